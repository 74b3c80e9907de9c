/** The experiment that is open: who is there, how far it is, and what the operator can do about it. */

import { byId, part, setText } from "../elements.js";
import { formatCount } from "../format.js";
import { OutcomeView } from "../screen/outcome_view.js";
import { ResultsView } from "../screen/results_view.js";
import { drawSeats } from "../screen/seats_view.js";
import { clockText, phaseWords, readyWords, roundWords } from "../screen/words.js";

/** @typedef {import("./types.js").OperatorRoom} OperatorRoom */
/** @typedef {import("./types.js").OperatorSeat} OperatorSeat */
/** @typedef {import("./types.js").Speech} Speech */

/** @typedef {"start" | "practice" | "pause" | "resume" | "stop"} Control */

/** @type {Control[]} */
const CONTROLS = ["start", "practice", "pause", "resume", "stop"];

const UNDER_WAY = ["gathering", "countdown", "running", "paused"];

export class RoomView {
  #speech;
  #onRemove;
  #results;
  #outcome;

  /**
   * @param {Speech} speech
   * @param {{onControl: (control: Control) => void, onRemove: (seat: OperatorSeat) => void}} acts
   */
  constructor(speech, { onControl, onRemove }) {
    this.#speech = speech;
    this.#onRemove = onRemove;
    this.#results = new ResultsView(document, speech);
    this.#outcome = new OutcomeView(document, speech);
    for (const control of CONTROLS)
      byId(document, `room-${control}`).addEventListener("click", () => onControl(control));
  }

  /**
   * @param {OperatorRoom | null} room
   * @param {number} elapsedS since the server said so
   */
  draw(room, elapsedS) {
    const phase = room?.phase ?? "closed";
    setText(byId(document, "phase"), room === null ? "" : phaseWords(room, this.#speech));
    byId(document, "under-way").hidden = !UNDER_WAY.includes(phase);
    byId(document, "outcome").hidden = phase !== "finished";
    const results = room?.progress?.results ?? {};
    byId(document, "results").hidden = phase === "closed" || Object.keys(results).length === 0;
    if (room === null || phase === "closed") return;
    this.#results.draw(results, room.progress?.notes ?? []);
    if (phase === "finished") this.#outcome.draw(room.result);
    else this.#drawUnderWay(room, elapsedS);
  }

  /**
   * @param {OperatorRoom} room
   * @param {number} elapsedS
   */
  #drawUnderWay(room, elapsedS) {
    const { t, language } = this.#speech;
    const isGathering = room.phase === "gathering";
    const ready = byId(document, "ready");
    ready.hidden = !isGathering;
    if (isGathering) setText(ready, readyWords(room, this.#speech));
    const leftS =
      room.remaining_s === null ? null : room.remaining_s - (room.phase === "running" ? elapsedS : 0);
    const figures = [
      roundWords(room, this.#speech),
      leftS === null ? "" : t("round.left", { time: clockText(leftS) }),
      room.pause_wanted ? t("room.pauses") : "",
    ];
    byId(document, "round").hidden = isGathering;
    setText(byId(document, "round"), figures.filter(Boolean).join(" · "));
    const bar = /** @type {HTMLProgressElement} */ (byId(document, "progress"));
    bar.hidden = isGathering || !room.rounds;
    bar.max = Math.max(1, room.rounds ?? 1);
    bar.value = Math.max(0, (room.round ?? 1) - 1);
    this.#drawControls(room, formatCount(room.ready_count, language));
    const here = room.participants.filter((seat) => !seat.removed && !seat.left);
    drawSeats(byId(document, "seats"), here, this.#speech, (row, seat) => this.#drawRemove(row, seat));
  }

  /**
   * @param {OperatorRoom} room
   * @param {string} ready
   */
  #drawControls(room, ready) {
    const { t } = this.#speech;
    const isGathering = room.phase === "gathering";
    const isEnough = room.ready_count >= room.wanted_count;
    /** @type {Record<Control, string | null>} */
    const texts = {
      start:
        isGathering && !room.practice ? t(isEnough ? "room.start" : "room.start_fewer", { ready }) : null,
      practice: isGathering && !room.practice ? t("room.practice") : null,
      pause: room.phase === "running" && !room.pause_wanted ? t("room.pause") : null,
      resume: room.phase === "paused" || room.pause_wanted ? t("room.resume") : null,
      stop: t(isGathering ? "room.cancel" : "room.stop"),
    };
    for (const control of CONTROLS) {
      const button = byId(document, `room-${control}`);
      button.hidden = texts[control] === null;
      setText(button, texts[control] ?? "");
    }
    const isNobodyReady = room.ready_count === 0;
    for (const control of ["start", "practice"])
      byId(document, `room-${control}`).setAttribute("aria-disabled", String(isNobodyReady));
    byId(document, "practice-hint").hidden = texts.practice === null;
  }

  /**
   * @param {HTMLElement} row
   * @param {OperatorSeat} seat
   */
  #drawRemove(row, seat) {
    const button = part(row, "remove");
    const { t } = this.#speech;
    button.setAttribute("aria-label", t("seat.remove_label", { name: seat.name }));
    setText(button, t("seat.remove"));
    button.onclick = () => this.#onRemove(seat);
  }
}
