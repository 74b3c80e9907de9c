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

/** @typedef {import("./types.js").Conduct} Conduct */

/** @typedef {{startUs: number, endUs: number}} Span `endUs` is infinite while it lasts */

/** One trial's record of one phone. */
export class ConductRecord {
  /** @type {[number, string][]} */
  #events = [];
  /** @type {Span[]} */
  #hidden = [];
  /** @type {Span[]} */
  #frozen = [];
  /** @type {number[]} when it came back from a sleep of whatever kind */
  #resumedUs = [];
  #gapUs = 0;
  #suspendedUs = 0;
  #disconnects = 0;
  /** @type {number | null} */
  #wallAheadUs = null;
  #left;

  /**
   * @param {{visible: boolean, startUs: number, left?: Conduct | null}} start `left`: how it was until the page was
   *   loaded anew
   */
  constructor({ visible, startUs, left = null }) {
    this.#left = left;
    if (left !== null) this.#events = withReload(left.events, startUs);
    if (!visible) open(this.#hidden, startUs);
  }

  /**
   * Something happened to the page.
   *
   * @param {LifecycleEvent} kind
   * @param {number} atUs client time
   */
  note(kind, atUs) {
    this.#log(kind, atUs);
    if (kind === "hidden") open(this.#hidden, atUs);
    else if (kind === "visible") close(this.#hidden, atUs);
    // A page in the back-forward cache is frozen too, whatever its events are called.
    else if (kind === "freeze" || kind === "pagehide") open(this.#frozen, atUs);
    else if ((kind === "resume" || kind === "pageshow") && close(this.#frozen, atUs))
      this.#resumedUs.push(atUs);
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
    this.#resumedUs.push(atUs);
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
    this.#resumedUs.push(atUs);
  }

  /**
   * The wall clock was read beside ours. It shows whole milliseconds, never too many: of many readings the largest is the
   * nearest. No delay is measured by it; the report shows what somebody who had used it would have found.
   *
   * @param {number} aheadUs how far it was ahead of ours
   */
  noteWallClock(aheadUs) {
    this.#wallAheadUs = Math.max(this.#wallAheadUs ?? -Infinity, aheadUs);
  }

  /**
   * The wall clock was set; nothing here is measured with it.
   *
   * @param {number} atUs
   */
  noteWallStep(atUs) {
    this.#log("wall_step", atUs);
    this.#wallAheadUs = null;
  }

  /** @param {number} atUs */
  noteDisconnect(atUs) {
    this.#log("disconnect", atUs);
    this.#disconnects += 1;
  }

  /**
   * What the page was when something arrived. Asked when the trial is over: of a freeze the worker may hear late.
   *
   * @param {number} atUs
   * @returns {LifecycleState}
   */
  stateAt(atUs) {
    if (isWithin(this.#frozen, atUs)) return "frozen";
    if (this.#resumedUs.some((backUs) => backUs <= atUs && atUs < backUs + RESUMED_US)) return "resumed";
    return isWithin(this.#hidden, atUs) ? "hidden" : "visible";
  }

  /**
   * Whether somebody could have seen it arrive.
   *
   * @param {number} atUs
   */
  wasVisibleAt(atUs) {
    return !isWithin(this.#frozen, atUs) && !isWithin(this.#hidden, atUs);
  }

  /** @param {number} nowUs client time */
  read(nowUs) {
    const left = this.#left;
    const hiddenUs = lengthUs(this.#hidden, nowUs);
    // A frozen page is a gap in its worker's time as well: one sleep, not two.
    const frozenUs = Math.max(lengthUs(this.#frozen, nowUs), this.#gapUs);
    return {
      disconnects: this.#disconnects + (left?.disconnects ?? 0),
      hidden_ms: Math.round(hiddenUs / 1000) + (left?.hidden_ms ?? 0),
      frozen_ms: Math.round(frozenUs / 1000) + (left?.frozen_ms ?? 0),
      suspended_ms: Math.round(this.#suspendedUs / 1000) + (left?.suspended_ms ?? 0),
      wall_ahead_us: this.#wallAheadUs,
      events: this.#events.slice(),
    };
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
 * What happened until the page was loaded anew, and that it was. Times before and behind it are of two clocks.
 *
 * @param {[number, string][]} events
 * @param {number} atUs client time of the new page
 * @returns {[number, string][]}
 */
export function withReload(events, atUs) {
  return [...events.slice(0, EVENTS_MAX - 1), [Math.round(atUs), "reload"]];
}

/**
 * @param {Span[]} spans
 * @param {number} atUs
 */
function open(spans, atUs) {
  if (spans.slice(-1)[0]?.endUs !== Infinity) spans.push({ startUs: atUs, endUs: Infinity });
}

/**
 * @param {Span[]} spans
 * @param {number} atUs
 * @returns {boolean} whether one was open
 */
function close(spans, atUs) {
  const last = spans.slice(-1)[0];
  if (last?.endUs !== Infinity) return false;
  last.endUs = Math.max(last.startUs, atUs);
  return true;
}

/**
 * @param {Span[]} spans
 * @param {number} atUs
 */
function isWithin(spans, atUs) {
  return spans.some(({ startUs, endUs }) => startUs <= atUs && atUs < endUs);
}

/**
 * @param {Span[]} spans
 * @param {number} nowUs
 */
function lengthUs(spans, nowUs) {
  return spans.reduce((sum, { startUs, endUs }) => sum + Math.max(0, Math.min(endUs, nowUs) - startUs), 0);
}
