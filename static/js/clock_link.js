/**
 * What the page's clock reads on the worker's.
 *
 * Each global has its own origin of `performance.now()`, and the two cannot be compared by `timeOrigin` after a change
 * of the wall clock. So the page asks the worker as the worker asks the server, with the same estimator.
 */

import { ClockSync } from "./clocksync.js";

/** @typedef {import("./types.js").ToWorker} ToWorker */
/** @typedef {import("./types.js").ToPage} ToPage */

const BURST_PINGS = 8;
const PING_SPACING_MS = 25;

/** ClockSync wants a probe within 15 s of what it reads. */
const BURST_PERIOD_MS = 5_000;

/** Display delay is tens of milliseconds; a stamp that is off by more than this would say little. */
const BOUND_MAX_US = 1_000;

/** The link of one page to its worker, while it runs. */
export class ClockLink {
  #sync = new ClockSync({ bound_max_us: BOUND_MAX_US });
  #dependencies;
  #isRunning = false;
  /** @type {any} */
  #timer;

  /**
   * @param {{
   *   send: (message: ToWorker) => void, nowUs: () => number, timers: import("./types.js").Timers,
   * }} dependencies
   */
  constructor(dependencies) {
    this.#dependencies = dependencies;
  }

  /** Begin to ask, once the worker is there: one that still loads would answer late. */
  start() {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#ping(BURST_PINGS);
  }

  stop() {
    this.#isRunning = false;
    this.#dependencies.timers.clearTimeout(this.#timer);
  }

  /**
   * @param {Extract<ToPage, {kind: "pong"}>} pong
   * @param {number} t4_us page time, taken as the answer came
   */
  onPong({ t1_us, t2_us, t3_us }, t4_us) {
    this.#sync.add({ t1_us, t2_us, t3_us, t4_us }, "worker");
  }

  /**
   * What to add to a page time to get the worker's, and the bound; both null while they are not linked well.
   *
   * @param {number} pageUs
   */
  read(pageUs) {
    const { offset_us, bound_us, state } = this.#sync.read(pageUs, { live: true });
    const isLinked = state === "ok";
    return { offset_us: isLinked ? offset_us : null, bound_us: isLinked ? bound_us : null, page_us: pageUs };
  }

  /** @param {number} leftCount pings of this burst */
  #ping(leftCount) {
    const { send, nowUs, timers } = this.#dependencies;
    send({ kind: "ping", t1_us: nowUs() });
    const isLast = leftCount <= 1;
    const next = () => this.#ping(isLast ? BURST_PINGS : leftCount - 1);
    this.#timer = timers.setTimeout(next, isLast ? BURST_PERIOD_MS : PING_SPACING_MS);
  }
}
