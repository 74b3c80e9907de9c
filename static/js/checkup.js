/** A phone's five seconds of checks before it is ready, one transport after the other, and the clock beside them. */

import { checkSocketIo, checkSse } from "./checks.js";

/** @typedef {import("./room_types.js").Checks} Checks */

/** The first burst of probes takes a second; a clock that says nothing for this long is out of reach. */
const CLOCK_WAIT_MS = 5_000;

const CLOCK_LOOK_MS = 200;

/** Everything is tried; what failed stays failed until it is tried again. */
export class Checkup {
  #dependencies;
  /** @type {Checks} */
  #checks = { sse: "waiting", socketio: "waiting", clock: "waiting" };
  /** @type {Partial<Record<keyof Checks, import("./room_types.js").CheckReason>>} */
  #reasons = {};
  #isRunning = false;

  /**
   * @param {{
   *   fetch: (url: string, options?: RequestInit) => Promise<Response>,
   *   openStream: import("./types.js").OpenStream,
   *   keeper: Pick<import("./clock_keeper.js").ClockKeeper, "status">,
   *   timers: import("./types.js").Timers, nowUs: () => number, onChange: () => void,
   * }} dependencies
   */
  constructor(dependencies) {
    this.#dependencies = dependencies;
  }

  async run() {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#checks = { sse: "waiting", socketio: "waiting", clock: "waiting" };
    this.#reasons = {};
    const clock = this.#checkClock();
    this.#note("sse", await checkSse(this.#dependencies));
    this.#note("socketio", await checkSocketIo(this.#dependencies));
    this.#note("clock", await clock);
    this.#isRunning = false;
    this.#dependencies.onChange();
  }

  get isPassed() {
    return Object.values(this.#checks).every((state) => state === "ok");
  }

  state() {
    return { checks: { ...this.#checks }, reasons: { ...this.#reasons }, isChecking: this.#isRunning };
  }

  /**
   * @param {keyof Checks} name
   * @param {import("./checks.js").CheckResult} result
   */
  #note(name, { state, reason }) {
    this.#checks[name] = state;
    if (reason !== null) this.#reasons[name] = reason;
    this.#dependencies.onChange();
  }

  /** @returns {Promise<import("./checks.js").CheckResult>} */
  async #checkClock() {
    const { keeper, nowUs, timers } = this.#dependencies;
    const untilUs = nowUs() + CLOCK_WAIT_MS * 1000;
    while (nowUs() < untilUs) {
      const { state } = keeper.status();
      if (state === "ok" || state === "wide_u") return { state: "ok", reason: null };
      await new Promise((resolve) => timers.setTimeout(() => resolve(undefined), CLOCK_LOOK_MS));
    }
    return { state: "failed", reason: "silent" };
  }
}
