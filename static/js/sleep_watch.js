/**
 * Notices that time went on without the worker: its timers stood still, or the wall clock jumped past its own.
 *
 * `performance.now()` does not tick while a phone sleeps, `Date.now()` does; so a sleep is a jump between the two. So is
 * a change of the wall clock, which harms nothing: the server's clock tells them apart, and whoever is told asks it.
 */

/** @typedef {import("./types.js").Timers} Timers */

const TICK_MS = 500;

/** A timer this late was not merely busy. */
const GAP_US_MIN = 2_500_000;

/** Far above what two readings one after the other differ by. */
const JUMP_US_MIN = 50_000;

/** Watches while it runs. */
export class SleepWatch {
  #dependencies;
  /** @type {any} */
  #timer = null;
  #lastUs = 0;
  #lastAheadUs = 0;

  /**
   * @param {{
   *   nowUs: () => number, wallUs: () => number, timers: Timers,
   *   onGap: (durationUs: number, atUs: number) => void, onJump: (byUs: number, atUs: number) => void,
   * }} dependencies `wallUs`: the wall clock; it is compared with itself only
   */
  constructor(dependencies) {
    this.#dependencies = dependencies;
  }

  start() {
    if (this.#timer !== null) return;
    this.#lastUs = this.#dependencies.nowUs();
    this.#lastAheadUs = this.#aheadUs() ?? 0;
    this.#schedule();
  }

  stop() {
    this.#dependencies.timers.clearTimeout(this.#timer);
    this.#timer = null;
  }

  /** Look now: the page is back from somewhere. */
  look() {
    if (this.#timer === null) return;
    const { nowUs, onGap, onJump } = this.#dependencies;
    const atUs = nowUs();
    const gapUs = atUs - this.#lastUs - TICK_MS * 1000;
    this.#lastUs = atUs;
    if (gapUs > GAP_US_MIN) onGap(gapUs, atUs);
    const aheadUs = this.#aheadUs();
    if (aheadUs === null) return;
    const jumpUs = aheadUs - this.#lastAheadUs;
    this.#lastAheadUs = aheadUs;
    if (Math.abs(jumpUs) > JUMP_US_MIN) onJump(jumpUs, atUs);
  }

  #schedule() {
    this.#timer = this.#dependencies.timers.setTimeout(() => {
      this.look();
      this.#schedule();
    }, TICK_MS);
  }

  /** How far the wall clock is ahead of ours; null when reading the two took too long to compare them. */
  #aheadUs() {
    const { nowUs, wallUs } = this.#dependencies;
    const beforeUs = nowUs();
    const aheadUs = wallUs() - beforeUs;
    return nowUs() - beforeUs > JUMP_US_MIN / 5 ? null : aheadUs;
  }
}
