/**
 * How a phone behaved during one trial: whether it was hidden, frozen, asleep or offline, and when.
 *
 * The runner decides by it whether a trial counts. Durations come from differences of one clock each: what the page
 * says of itself from the page's, gaps from the worker's.
 */

/** @typedef {import("./types.js").LifecycleEvent} LifecycleEvent */
/** @typedef {"visible" | "hidden" | "frozen" | "resumed"} LifecycleState */

/** The server takes as many per trial; the first ones tell what happened. */
export const EVENTS_MAX = 32;

/** What comes this soon after a page is back was waiting for it. */
export const RESUMED_US = 2_000_000;

/** One trial's record of one phone. */
export class ConductRecord {
  /** @type {[number, string][]} */
  #events = [];
  /** @type {number | null} */
  #hiddenSinceUs;
  #hiddenUs = 0;
  /** @type {number | null} */
  #frozenSinceUs = null;
  #frozenUs = 0;
  #gapUs = 0;
  #suspendedUs = 0;
  #resumedUs = -Infinity;
  #disconnects = 0;

  /** @param {{visible: boolean, startUs: number}} start */
  constructor({ visible, startUs }) {
    this.#hiddenSinceUs = visible ? null : startUs;
  }

  /**
   * Something happened to the page.
   *
   * @param {LifecycleEvent} kind
   * @param {number} atUs client time
   */
  note(kind, atUs) {
    this.#log(kind, atUs);
    if (kind === "hidden") this.#hiddenSinceUs ??= atUs;
    else if (kind === "visible") this.#endHidden(atUs);
    // A page in the back-forward cache is frozen too, whatever its events are called.
    else if (kind === "freeze" || kind === "pagehide") this.#frozenSinceUs ??= atUs;
    else if (kind === "resume" || kind === "pageshow") this.#endFrozen(atUs);
  }

  /**
   * The worker's timers stood still.
   *
   * @param {number} durationUs
   * @param {number} atUs client time of its end
   */
  noteGap(durationUs, atUs) {
    this.#log("gap", atUs);
    this.#gapUs += durationUs;
    this.#resumedUs = atUs;
  }

  /**
   * The device slept: its clock stood still, and the server's did not.
   *
   * @param {number} durationUs
   * @param {number} atUs
   */
  noteSuspended(durationUs, atUs) {
    this.#log("suspended", atUs);
    this.#suspendedUs += durationUs;
    this.#resumedUs = atUs;
  }

  /**
   * The wall clock was set; nothing here is measured with it.
   *
   * @param {number} atUs
   */
  noteWallStep(atUs) {
    this.#log("wall_step", atUs);
  }

  /** @param {number} atUs */
  noteDisconnect(atUs) {
    this.#log("disconnect", atUs);
    this.#disconnects += 1;
  }

  /**
   * What the page was when something arrived.
   *
   * @param {number} atUs
   * @returns {LifecycleState}
   */
  stateAt(atUs) {
    if (this.#frozenSinceUs !== null) return "frozen";
    if (this.#hiddenSinceUs !== null) return "hidden";
    return atUs < this.#resumedUs + RESUMED_US ? "resumed" : "visible";
  }

  /** @param {number} nowUs client time */
  read(nowUs) {
    const hiddenUs = this.#hiddenUs + since(this.#hiddenSinceUs, nowUs);
    const frozenUs = this.#frozenUs + since(this.#frozenSinceUs, nowUs);
    return {
      disconnects: this.#disconnects,
      hidden_ms: Math.round(hiddenUs / 1000),
      // A frozen page is a gap in its worker's time as well: one sleep, not two.
      frozen_ms: Math.round(Math.max(frozenUs, this.#gapUs) / 1000),
      suspended_ms: Math.round(this.#suspendedUs / 1000),
      events: this.#events.slice(),
    };
  }

  /** @param {number} atUs */
  #endHidden(atUs) {
    this.#hiddenUs += since(this.#hiddenSinceUs, atUs);
    this.#hiddenSinceUs = null;
  }

  /** @param {number} atUs */
  #endFrozen(atUs) {
    this.#frozenUs += since(this.#frozenSinceUs, atUs);
    if (this.#frozenSinceUs !== null) this.#resumedUs = atUs;
    this.#frozenSinceUs = null;
  }

  /**
   * @param {string} kind
   * @param {number} atUs
   */
  #log(kind, atUs) {
    if (this.#events.length < EVENTS_MAX) this.#events.push([Math.round(atUs), kind]);
  }
}

/**
 * @param {number | null} startUs
 * @param {number} endUs
 */
function since(startUs, endUs) {
  return startUs === null ? 0 : Math.max(0, endUs - startUs);
}
