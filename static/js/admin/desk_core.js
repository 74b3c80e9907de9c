/** What everything at the operator's desk shares: the page's state, and how a request changes it. */

import { failureWords, isGood } from "./api.js";

/** @typedef {import("./api.js").Answer} Answer */
/** @typedef {import("./types.js").PageState} PageState */
/** @typedef {import("./types.js").Speech} Speech */

/**
 * @typedef {{
 *   api: Pick<import("./api.js").Api, "ask">, speech: Speech, timers: import("../types.js").Timers,
 *   question: (text: string, yes: string) => Promise<boolean>, onChange: () => void,
 * }} Parts
 */

export class DeskCore {
  api;
  speech;
  timers;
  question;
  #onChange;

  /** Called when there is a session, and when there is none any more. @type {(isIn: boolean) => void} */
  onSession = () => {};
  /** Called when the session ends: what was asked for in its name is not asked for any more. */
  onLeft = () => {};
  /** Called when something was done, so that the page looks at once. */
  onActed = () => {};

  /** @type {PageState} */
  state = {
    session: "unknown",
    problem: "",
    word: "",
    sign_in_problem: "",
    room: null,
    heard_us: 0,
    devices: [],
    presets: [],
    runs: [],
    history: [],
    followed: null,
    chosen: new Set(),
    compared: new Set(),
    deleted_run: null,
    starting_run: null,
    is_changing: false,
    self_tests: null,
    wants_self_tests: false,
  };

  /** @param {Parts} parts */
  constructor({ api, speech, timers, question, onChange }) {
    this.api = api;
    this.speech = speech;
    this.timers = timers;
    this.question = question;
    this.#onChange = onChange;
  }

  /**
   * A request that changes something; whether it went well.
   *
   * @param {string} method
   * @param {string} path
   * @param {{body?: unknown, word?: string}} [extra]
   */
  async act(method, path, { body, word } = {}) {
    const answer = await this.api.ask(method, path, { body });
    if (!this.take(answer)) return false;
    this.acted(word);
    return true;
  }

  /** @param {string} [word] the text that says what was done */
  acted(word) {
    this.set({ problem: "", word: word ? this.speech.t(word) : "" });
    this.onActed();
  }

  /**
   * Whether the answer is good; if not, the page says why.
   *
   * @param {Answer} answer
   */
  take(answer) {
    if (isGood(answer)) {
      if (this.state.problem === this.speech.t("problem.server_away")) this.set({ problem: "" });
      return true;
    }
    const words = failureWords(answer, this.speech);
    if (answer.status === 401) this.leave(words);
    else this.set({ problem: words });
    return false;
  }

  /** @param {string} problem why there is no session any more; empty for who signed out */
  leave(problem) {
    this.onSession(false);
    this.onLeft();
    this.set({
      session: "out",
      sign_in_problem: problem,
      room: null,
      devices: [],
      runs: [],
      history: [],
      followed: null,
      self_tests: null,
    });
  }

  /** @param {Partial<PageState>} change */
  set(change) {
    Object.assign(this.state, change);
    this.#onChange();
  }
}
