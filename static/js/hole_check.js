/**
 * When to ask history about holes: late, seldom, and not while a trial is measured.
 *
 * Nothing here is on the way of an arrival but a look at whether there is a hole.
 */

import { backoffMs } from "./backoff.js";

/** @typedef {import("./types.js").HistoryAnswer} HistoryAnswer */
/** @typedef {import("./types.js").Span} Span */

/**
 * What is late fills its hole by itself meanwhile. As much again is random: a notification for a few devices is a hole
 * on all others at once, and a room of phones must not ask as one.
 */
export const ASK_AFTER_MS = 2_000;

/** A trial that was heard of this long ago is over, or has broken off. */
export const TRIAL_QUIET_MS = 2_000;

/** With the growing waits about a minute and a half; then what is missing stays unknown. */
export const TRIES_MAX = 8;

/** Asks about the open holes of one order. */
export class HoleCheck {
  #order;
  #dependencies;
  #failedCount = 0;
  #trialUs = -Infinity;
  #isFinished = false;
  /** @type {any} */
  #timer = null;
  /** @type {Promise<void> | null} the question that waits for its answer */
  #underWay = null;

  /**
   * @param {Pick<import("./order.js").Order, "openSpan" | "judge" | "giveUp">} order
   * @param {{
   *   askHistory: (span: Span) => Promise<HistoryAnswer | null>, onChange: () => void,
   *   nowUs: () => number, timers: import("./types.js").Timers, random: () => number,
   * }} dependencies `askHistory` never fails
   */
  constructor(order, dependencies) {
    this.#order = order;
    this.#dependencies = dependencies;
  }

  /** The order may have a hole by now. */
  note() {
    const isAsking = this.#timer !== null || this.#underWay !== null;
    if (isAsking || this.#isFinished || this.#order.openSpan() === null) return;
    this.#askIn(ASK_AFTER_MS * (1 + this.#dependencies.random()));
  }

  /**
   * A notification of a trial came.
   *
   * @param {number} receivedUs client time
   */
  noteTrial(receivedUs) {
    this.#trialUs = receivedUs;
  }

  /** Ask once more where something is open, and then no more. */
  async finish() {
    this.#isFinished = true;
    this.#dependencies.timers.clearTimeout(this.#timer);
    await this.#underWay;
    if (this.#quietInMs() <= 0) await this.#ask();
  }

  /** @param {number} delayMs */
  #askIn(delayMs) {
    this.#timer = this.#dependencies.timers.setTimeout(() => this.#onTimer(), delayMs);
  }

  #onTimer() {
    this.#timer = null;
    const waitMs = this.#quietInMs();
    if (waitMs > 0) return this.#askIn(waitMs);
    this.#underWay = this.#ask().then(() => {
      this.#underWay = null;
      this.#goOn();
    });
  }

  /** How long until no trial is measured any more, as far as is known. */
  #quietInMs() {
    return TRIAL_QUIET_MS - (this.#dependencies.nowUs() - this.#trialUs) / 1000;
  }

  async #ask() {
    const span = this.#order.openSpan();
    if (span === null) return;
    const answer = await this.#dependencies.askHistory(span);
    if (answer === null) {
      this.#failedCount += 1;
    } else {
      this.#failedCount = 0;
      this.#order.judge(answer);
    }
    this.#dependencies.onChange();
  }

  /** Behind an answer: the rest of a long list, holes that came meanwhile, or another try. */
  #goOn() {
    if (this.#failedCount >= TRIES_MAX) {
      this.#order.giveUp();
      this.#failedCount = 0;
      this.#dependencies.onChange();
    }
    if (this.#failedCount === 0) this.note();
    else if (!this.#isFinished) this.#askIn(backoffMs(this.#failedCount, this.#dependencies.random));
  }
}
