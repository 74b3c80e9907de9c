/** Tells a sleep of the device from a wall clock that was set: both look the same from inside. */

import { SleepWatch } from "./sleep_watch.js";

/** A sleep and the jump of the wall clock that shows it differ by less: the probes around it take their time. */
const TOLERANCE_US = 100_000;

/**
 * What it calls, with client times.
 *
 * @typedef {{
 *   onGap: (durationUs: number, atUs: number) => void, onSuspended: (durationUs: number, atUs: number) => void,
 *   onWallStep: (atUs: number) => void,
 * }} SleepEvents
 */

/** Watches while a phone is in the room, with the server's clock as its witness. */
export class SleepWitness {
  #keeper;
  #nowUs;
  #events;
  #watch;

  /**
   * @param {{
   *   keeper: Pick<import("./clock_keeper.js").ClockKeeper, "read" | "wake">,
   *   nowUs: () => number, wallUs: () => number, timers: import("./types.js").Timers,
   * }} dependencies
   * @param {SleepEvents} events
   */
  constructor({ keeper, nowUs, wallUs, timers }, events) {
    this.#keeper = keeper;
    this.#nowUs = nowUs;
    this.#events = events;
    this.#watch = new SleepWatch({
      nowUs,
      wallUs,
      timers,
      onGap: (durationUs, atUs) => this.#onGap(durationUs, atUs),
      onJump: (byUs, atUs) => this.#onJump(byUs, atUs),
    });
  }

  start() {
    this.#watch.start();
  }

  stop() {
    this.#watch.stop();
  }

  /** The page is back from somewhere: look at once, and measure the clock anew. */
  look() {
    this.#watch.look();
    this.#keeper.wake();
  }

  /**
   * @param {number} durationUs
   * @param {number} atUs
   */
  #onGap(durationUs, atUs) {
    this.#keeper.wake();
    this.#events.onGap(durationUs, atUs);
  }

  /**
   * The server's clock has gone on past ours by as much only when we slept. Without its word, as behind a long sleep,
   * a sleep is assumed: it makes a trial void, and the other would not.
   *
   * @param {number} byUs
   * @param {number} atUs
   */
  async #onJump(byUs, atUs) {
    const before = this.#keeper.read(atUs, { live: true }).offset_us;
    await this.#keeper.wake();
    const after = this.#keeper.read(this.#nowUs(), { live: true }).offset_us;
    const isConfirmed = before === null || after === null || Math.abs(after - before - byUs) < TOLERANCE_US;
    if (isConfirmed && byUs > 0) this.#events.onSuspended(byUs, atUs);
    else this.#events.onWallStep(atUs);
  }
}
