/**
 * Draws the room's part of the page: one step at a time, everything else hidden.
 *
 * In a round it shows its number, how much has come, and little else: what the page draws costs the phone that measures.
 */

import { byId, setText } from "./elements.js";
import { formatCount } from "./format.js";
import { mayComeBack, problemsOutside } from "./room_steps.js";
import { root } from "./root.js";
import { checkWords, leftWords, lobbyWords, roundWords, stateWords } from "./room_words.js";

/** @typedef {import("./room_steps.js").Step} Step */
/** @typedef {import("./room_types.js").Assignment} Assignment */
/** @typedef {import("./room_types.js").RoomState} RoomState */

/**
 * @typedef {{
 *   step: Step, assignment: Assignment | null, room: RoomState | null, count: number, sinceMs: number,
 *   isJoining: boolean, problem: "second_tab" | null, forgetting: import("./forgetting.js").ForgettingState | null,
 *   wakeLock: "held" | "waiting" | "impossible", isSecure: boolean,
 * }} RoomPageState `sinceMs`: since the worker said so
 */

/** Which block of the page belongs to which step. */
const BLOCKS = /** @type {const} */ ({
  "room-join": ["join"],
  "room-lobby": ["lobby"],
  "room-big": ["countdown", "round"],
  "room-say": ["busy", "removed", "lost", "forgotten", "between", "paused", "finished", "closed"],
  "room-result": ["finished"],
  "room-own": ["join", "lobby", "between", "paused", "finished", "closed", "removed", "forgotten"],
});

const CHECKS = /** @type {const} */ (["sse", "socketio", "clock", "screen"]);

/** The room's elements. */
export class RoomView {
  #document;
  #speech;
  #resultUrl = "";

  /**
   * @param {Document} document
   * @param {import("./words.js").Speech} speech
   */
  constructor(document, speech) {
    this.#document = document;
    this.#speech = speech;
  }

  /** @param {RoomPageState} state */
  draw(state) {
    const { step, assignment } = state;
    const place = this.#byId("room");
    place.hidden = step === "none";
    const hadFocus = place.dataset.step !== step && place.contains(this.#document.activeElement);
    place.dataset.step = step;
    if (step === "none") return;
    for (const [id, steps] of Object.entries(BLOCKS)) {
      this.#byId(id).hidden = !(/** @type {readonly string[]} */ (steps).includes(step));
    }
    this.#drawHead(state);
    // What was pressed is gone: the keyboard goes on from the top of what came in its place.
    if (hadFocus) this.#byId("room-heading").focus();
    this.#drawProblems(state);
    if (step === "join") this.#drawJoin(state);
    else if (step === "lobby") this.#drawLobby(state);
    else if (step === "countdown" || step === "round") this.#drawBig(state);
    else setText(this.#byId("room-words"), stateWords(step, state, this.#speech));
    if (step === "finished") this.#drawResult(assignment?.result_url ?? null);
    this.#drawOwn(state);
  }

  /** @param {RoomPageState} state */
  #drawHead({ step, assignment }) {
    const { t } = this.#speech;
    const { name, seat } = assignment?.you ?? {};
    const isIn = !["join", "busy", "removed", "lost", "forgotten"].includes(step);
    setText(this.#byId("room-heading"), isIn && name ? name : t("room.heading"));
    setText(this.#byId("room-seat"), isIn && seat ? t("room.seat", { seat }) : "");
    this.#byId("room-practice").hidden = !assignment?.practice;
  }

  /** @param {RoomPageState} state */
  #drawProblems({ room, problem, step, forgetting }) {
    const shown = [...(problem ? [problem] : []), ...problemsOutside(room, forgetting)];
    // Said in a round all the same: the phone has to be looked after at once.
    const isSaid = step === "busy" || step === "lost" || step === "forgotten";
    const texts = isSaid ? [] : shown.map((name) => this.#speech.t(`room.problem_${name}`));
    setText(this.#byId("room-problem"), texts.join(" "));
    this.#byId("room-problem").hidden = texts.length === 0;
  }

  /** @param {RoomPageState} state */
  #drawJoin({ assignment, room, isJoining }) {
    const { t, language } = this.#speech;
    const isWrong = room?.problems.includes("code_wrong") ?? false;
    const isAskedForCode = isWrong || (assignment?.join_code_required ?? false);
    const code = /** @type {HTMLInputElement} */ (this.#byId("join-code"));
    this.#byId("join-code-field").hidden = !isAskedForCode && code.value === "";
    const name = /** @type {HTMLInputElement} */ (this.#byId("join-name"));
    const proposed = assignment?.you.name ?? assignment?.you.proposed_name ?? "";
    if (name.dataset.proposed !== proposed) {
      // What was typed stays; a proposal that nobody touched follows the server's.
      if (name.value === (name.dataset.proposed ?? "")) name.value = proposed;
      name.dataset.proposed = proposed;
    }
    const minutes = Math.max(1, Math.ceil((assignment?.length_s ?? 0) / 60));
    const count = (/** @type {number} */ value) => formatCount(value, language);
    const facts = {
      minutes: count(minutes),
      joined: count(assignment?.joined_count ?? 0),
      wanted: count(assignment?.wanted_count ?? 0),
    };
    const isBack = assignment !== null && mayComeBack(assignment);
    setText(this.#byId("join-facts"), isBack ? t("room.come_back") : t("room.facts", facts));
    setText(this.#byId("join-button"), t(isJoining ? "room.joining" : "room.join"));
    this.#byId("join-button").setAttribute("aria-disabled", String(isJoining));
  }

  /** @param {RoomPageState} state */
  #drawLobby(state) {
    const { room, assignment, wakeLock } = state;
    const { t } = this.#speech;
    const [figure, words] = lobbyWords(assignment, room?.isReady ?? false, this.#speech);
    setText(this.#byId("lobby-figure"), figure);
    setText(this.#byId("lobby-words"), words);
    for (const name of CHECKS) {
      const screen = wakeLock === "held" ? "ok" : wakeLock === "waiting" ? "waiting" : "advice";
      const mark = name === "screen" ? screen : (room?.checks[name] ?? "waiting");
      const row = this.#byId(`check-${name}`);
      row.dataset.state = mark;
      setText(/** @type {Element} */ (row.lastElementChild), checkWords(name, mark, room, this.#speech));
    }
    const hasFailed = Object.values(room?.checks ?? {}).includes("failed");
    this.#byId("check-again").hidden = !hasFailed || (room?.isChecking ?? false);
    this.#byId("screen-advice").hidden = wakeLock !== "impossible";
    setText(this.#byId("screen-advice"), t(state.isSecure ? "room.screen_old" : "room.screen_http"));
  }

  /** One large number: what is left of a countdown, or what has come in this round. */
  #drawBig(/** @type {RoomPageState} */ { step, room, assignment, count, sinceMs }) {
    const { language } = this.#speech;
    const leftMs = Math.max(0, (room?.countdown_in_ms ?? 0) - sinceMs);
    const isCounting = step === "countdown" || ["running", "posting"].includes(room?.trial?.state ?? "");
    const figure = step === "countdown" ? Math.ceil(leftMs / 1000) : count;
    setText(this.#byId("big-figure"), isCounting ? formatCount(figure, language) : "");
    setText(this.#byId("big-words"), roundWords(step, room, this.#speech));
    setText(this.#byId("big-round"), leftWords(assignment, this.#speech));
  }

  /** @param {string | null} url */
  #drawResult(url) {
    const link = /** @type {HTMLAnchorElement} */ (this.#byId("result-link"));
    link.hidden = url === null;
    if (url === null || this.#resultUrl === url) return;
    this.#resultUrl = url;
    const address = new URL(root + url, this.#document.baseURI);
    address.searchParams.set("lang", this.#speech.language);
    link.href = address.href;
    // Tried anew the next time that the page draws, which is when the server was heard of again.
    this.#showDrawing(url).catch(() => (this.#resultUrl = ""));
  }

  /** @param {string} url */
  async #showDrawing(url) {
    const { showResult } = await import("./result_view.js");
    await showResult(this.#byId("result-drawing"), url, this.#speech.language);
  }

  /** @param {RoomPageState} state */
  #drawOwn({ step, forgetting }) {
    const { t } = this.#speech;
    const isOutside = step === "join" || step === "removed";
    this.#byId("leave").hidden = isOutside || step === "forgotten";
    const text = forgetting === null ? "room.forget" : `room.forget_${forgetting}`;
    setText(this.#byId("forget"), t(text));
    // Once: what is said in the place of the step is not said here as well.
    setText(this.#byId("forget-words"), forgetting === "done" && isOutside ? t("room.forgotten") : "");
    if (forgetting === "done" && step === "forgotten") this.#byId("room-own").hidden = true;
  }

  /** @param {string} id */
  #byId(id) {
    return byId(this.#document, id);
  }
}
