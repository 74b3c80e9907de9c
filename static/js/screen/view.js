/** Draws the big screen. The page is a function of its state and the time. */

import { byId, drawRows, fromTemplate, part, setText } from "../elements.js";
import { OutcomeView } from "./outcome_view.js";
import { ResultsView } from "./results_view.js";
import { drawSeats } from "./seats_view.js";
import { clockText, lengthWords, phaseWords, readyWords, roundWords } from "./words.js";

/** @typedef {import("./types.js").ScreenState} ScreenState */
/** @typedef {import("./types.js").Seat} Seat */
/** @typedef {import("./types.js").Speech} Speech */

/** @typedef {"bad_link" | "server_away" | "server_refuses"} Problem */
/**
 * @typedef {{room: ScreenState | null, heard_us: number, problem: Problem | null, detail: string}} PageState
 *   `heard_us`: server time. `detail`: the server's own words of why it refuses
 */

const SECTIONS = ["closed", "lobby", "countdown", "running", "results", "outcome"];

/** @type {Record<import("./types.js").RoomPhase, string[]>} */
const SHOWN = {
  closed: ["closed"],
  gathering: ["lobby"],
  countdown: ["countdown"],
  running: ["running", "results"],
  paused: ["running", "results"],
  finished: ["outcome", "results"],
};

export class ScreenView {
  #document;
  #speech;
  #results;
  #outcome;

  /**
   * @param {Document} document
   * @param {Speech} speech
   */
  constructor(document, speech) {
    this.#document = document;
    this.#speech = speech;
    this.#results = new ResultsView(document, speech);
    this.#outcome = new OutcomeView(document, speech);
  }

  /**
   * @param {PageState} state
   * @param {number} serverUs the server's time now
   */
  draw({ room, heard_us, problem, detail }, serverUs) {
    const words = problem === null ? "" : this.#speech.t(`problem.${problem}`, { detail });
    setText(byId(this.#document, "problem"), words);
    if (room === null) return;
    const results = room.progress?.results ?? {};
    const hasResults = Object.keys(results).length > 0;
    const shown = SHOWN[room.phase] ?? [];
    for (const id of SECTIONS)
      byId(this.#document, id).hidden = !shown.includes(id) || (id === "results" && !hasResults);
    setText(byId(this.#document, "phase"), phaseWords(room, this.#speech));
    if (room.phase === "gathering") this.#drawLobby(room);
    if (room.phase === "countdown") this.#drawCountdown(room, serverUs);
    if (shown.includes("running")) this.#drawRunning(room, (serverUs - heard_us) / 1_000_000);
    if (room.phase === "finished") this.#outcome.draw(room.result);
    if (hasResults) this.#results.draw(results, room.progress?.notes ?? []);
  }

  /** @param {ScreenState} room */
  #drawLobby(room) {
    const { t } = this.#speech;
    this.#drawQr(room);
    // What follows the address is the code, which stands below in letters that can be read from the last row.
    setText(byId(this.#document, "join-url"), room.join_url.split("?")[0]);
    byId(this.#document, "join-local").hidden = !room.join_url_is_local;
    byId(this.#document, "join-code-line").hidden = !room.join_code;
    setText(
      byId(this.#document, "join-code-word"),
      t(room.join_code_required ? "lobby.code" : "lobby.code_if_asked"),
    );
    setText(byId(this.#document, "join-code"), room.join_code ?? "");
    setText(byId(this.#document, "ready"), readyWords(room, this.#speech));
    const length = room.length_s
      ? t("lobby.length", { length: lengthWords(room.length_s, this.#speech) })
      : "";
    setText(byId(this.#document, "length"), length);
    drawSeats(byId(this.#document, "seats"), this.#seatsWithEmptyOnes(room), this.#speech);
  }

  /**
   * A square for each phone that is still to come, so that people see how many are missing.
   *
   * @param {ScreenState} room
   * @returns {Seat[]}
   */
  #seatsWithEmptyOnes({ participants, wanted_count }) {
    const taken = participants.filter((seat) => !seat.removed).sort((a, b) => a.seat - b.seat);
    const highest = Math.max(0, ...taken.map(({ seat }) => seat));
    const empty = Math.max(0, wanted_count - taken.length);
    return [...taken, ...Array.from({ length: empty }, (_, n) => ({ seat: highest + n + 1, name: "" }))];
  }

  /** @param {ScreenState} room */
  #drawQr({ qr }) {
    const place = byId(this.#document, "qr");
    place.toggleAttribute("hidden", qr === null);
    if (qr === null || place.dataset.path === qr.path) return;
    place.dataset.path = qr.path;
    place.setAttribute("viewBox", `0 0 ${qr.size} ${qr.size}`);
    place.querySelector("path")?.setAttribute("d", qr.path);
  }

  /**
   * @param {ScreenState} room
   * @param {number} serverUs
   */
  #drawCountdown({ countdown_to_us }, serverUs) {
    const leftS = countdown_to_us === null ? 0 : (countdown_to_us - serverUs) / 1_000_000;
    setText(
      byId(this.#document, "count"),
      leftS > 0 ? String(Math.ceil(leftS)) : this.#speech.t("countdown.now"),
    );
  }

  /**
   * @param {ScreenState} room
   * @param {number} elapsedS since the server said so
   */
  #drawRunning(room, elapsedS) {
    const { t } = this.#speech;
    const isPaused = room.phase === "paused";
    setText(byId(this.#document, "round"), roundWords(room, this.#speech));
    const leftS = room.remaining_s === null ? null : room.remaining_s - (isPaused ? 0 : elapsedS);
    setText(byId(this.#document, "time-left"), leftS === null ? "–" : clockText(leftS));
    const bar = /** @type {HTMLProgressElement} */ (byId(this.#document, "progress"));
    bar.max = Math.max(1, room.rounds ?? 1);
    bar.value = Math.max(0, (room.round ?? 1) - 1);
    const there = room.participants.filter((seat) => !seat.removed).sort((a, b) => a.seat - b.seat);
    drawRows(byId(this.#document, "there"), there, {
      keyOf: (seat) => String(seat.seat),
      make: () => fromTemplate(this.#document, "there-template"),
      draw: (row, seat) => {
        const state = stateOf(seat, room.trial);
        row.dataset.state = state;
        setText(part(row, "name"), seat.name);
        setText(part(row, "state"), state === "there" ? "" : t(`seat.${state}`));
      },
    });
  }
}

/**
 * @param {Seat} seat
 * @param {import("./types.js").Trial | null} trial
 * @returns {"away" | "hidden" | "rests" | "there"}
 */
function stateOf({ seat, away, visible }, trial) {
  if (away) return "away";
  if (visible === false) return "hidden";
  return trial?.seats && !trial.seats.includes(seat) ? "rests" : "there";
}
