/** Asks again and again: at the pace it is told, slower while nobody answers, and at once when something was done. */

import { backoffMs } from "../backoff.js";

/** @typedef {import("../types.js").Timers} Timers */

export class Poller {
  #ask;
  #waitMs;
  #timers;
  #random;
  /** @type {any} */
  #timer = null;
  #failedCount = 0;
  #isAsking = false;
  #isAgain = false;
  #isOn = false;

  /**
   * @param {{ask: () => Promise<boolean>, waitMs: () => number, timers: Timers, random: () => number}} how
   *   `ask` says whether there was an answer
   */
  constructor({ ask, waitMs, timers, random }) {
    this.#ask = ask;
    this.#waitMs = waitMs;
    this.#timers = timers;
    this.#random = random;
  }

  start() {
    if (this.#isOn) return;
    this.#isOn = true;
    this.askNow();
  }

  stop() {
    this.#isOn = false;
    this.#timers.clearTimeout(this.#timer);
  }

  /** Ask without waiting; one question at a time, so a question under way is followed by another. */
  async askNow() {
    if (!this.#isOn) return;
    if (this.#isAsking) {
      this.#isAgain = true;
      return;
    }
    this.#timers.clearTimeout(this.#timer);
    this.#isAsking = true;
    this.#isAgain = false;
    const isAnswered = await this.#ask();
    this.#isAsking = false;
    this.#failedCount = isAnswered ? 0 : this.#failedCount + 1;
    if (!this.#isOn) return;
    const waitMs = isAnswered ? this.#waitMs() : backoffMs(this.#failedCount, this.#random);
    this.#timer = this.#timers.setTimeout(() => this.askNow(), this.#isAgain ? 0 : waitMs);
  }
}
