/**
 * The client's clock over a whole session: probes in, and for any sample an offset with a hard bound, or a reason.
 *
 * The same steps in the same order as `app/core/clocksync/sync.py`, which explains them; `tests/vectors/clocksync.json`
 * holds the two to the same doubles.
 */

import { ClockModel, DEFAULT_TOLERANCES, isOrdered } from "./clockmodel.js";
import { ClockSegment, countUpTo } from "./clocksegment.js";

/** @typedef {import("./clockmodel.js").Probe} Probe */
/** @typedef {import("./clockmodel.js").Tolerances} Tolerances */

/** @typedef {"ok" | "no_clock" | "wide_u" | "epoch_break"} ClockState */

/**
 * What the clock says of one sample. `offset_us` is server time minus client time; both numbers are null in the states
 * `no_clock` and `epoch_break`.
 *
 * @typedef {{offset_us: number | null, bound_us: number | null, state: ClockState}} ClockReading
 */

/** U_max: with a wider bound a sample is left out of absolute delays. */
const BOUND_MAX_US = 5_000;

/** About 2.8 hours of probing: 8 probes about every 5 s. At the limit the oldest half minute is forgotten. */
const PROBE_COUNT_MAX = 16_384;

/** The clock of one client, from page load to page unload; a client whose clock starts anew needs a new one. */
export class ClockSync {
  /** Breaks that a contradiction revealed; new timebases and `openSegment` are not counted. */
  break_count = 0;
  /** Probes out of order, impossible for any clock, or too near to a break to be used. */
  rejected_count = 0;
  /** @type {ClockSegment[]} */
  #segments = [];
  #isOpen = false;
  #cleanAfterUs = -Infinity;
  #tolerances;
  #boundMaxUs;
  #probeCountMax;

  /** @param {Partial<Tolerances> & {bound_max_us?: number, probe_count_max?: number}} [options] */
  constructor({ bound_max_us = BOUND_MAX_US, probe_count_max = PROBE_COUNT_MAX, ...tolerances } = {}) {
    this.#tolerances = { ...DEFAULT_TOLERANCES, ...tolerances };
    this.#boundMaxUs = bound_max_us;
    this.#probeCountMax = probe_count_max;
  }

  /** The clock segments so far, oldest first, each with at least one probe. */
  get segments() {
    return [...this.#segments];
  }

  /** Probes in use. */
  get probe_count() {
    return this.#segments.reduce((count, segment) => count + segment.probes.length, 0);
  }

  /**
   * Take a probe in. After `break`, samples are void until the next accepted probe.
   *
   * @param {Probe} probe
   * @param {string} [timebase]
   * @returns {"accepted" | "rejected" | "break"}
   */
  add(probe, timebase = "") {
    if (!this.#isUsable(probe)) {
      this.rejected_count += 1;
      return "rejected";
    }
    if (!this.#isOpen || this.#lastSegment()?.timebase !== timebase) {
      this.#segments.push(new ClockSegment(timebase, this.#tolerances));
      this.#isOpen = true;
    }
    if (!this.#lastSegment()?.add(probe)) {
      this.#breakAt(probe);
      return "break";
    }
    if (this.probe_count > this.#probeCountMax) this.#forgetOldest();
    return "accepted";
  }

  /** Begin a new segment with the next probe: the page was frozen, hidden or restored. */
  openSegment() {
    this.#isOpen = false;
  }

  /**
   * The clock at a client's stamp.
   *
   * @param {number} clientUs
   * @param {{live?: boolean}} [options] `live`: later probes are still to come, so earlier ones suffice
   * @returns {ClockReading}
   */
  read(clientUs, { live = false } = {}) {
    const segment = this.#segmentAt(clientUs);
    if (!segment) return withoutOffset("no_clock");
    const isClosed = segment !== this.#lastSegment() || !this.#isOpen;
    if (clientUs > segment.end_us && isClosed) return withoutOffset("epoch_break");
    const model = segment.modelAt(clientUs);
    if (!model || !segment.hasProbesAround(clientUs, live)) return withoutOffset("no_clock");
    const boundUs = model.boundUs(clientUs);
    const state = boundUs <= this.#boundMaxUs ? "ok" : "wide_u";
    return { offset_us: model.offsetUs(clientUs), bound_us: boundUs, state };
  }

  /**
   * The last segment that began by then.
   *
   * @param {number} clientUs
   * @returns {ClockSegment | undefined}
   */
  #segmentAt(clientUs) {
    return this.#segments[countUpTo(this.#segments, clientUs, (segment) => segment.start_us) - 1];
  }

  /** @returns {ClockSegment | undefined} */
  #lastSegment() {
    return this.#segments[this.#segments.length - 1];
  }

  /** @param {Probe} probe */
  #isUsable(probe) {
    if (!isOrdered(probe) || ClockModel.start(probe, this.#tolerances) === null) return false;
    const lastUs = this.#lastSegment()?.probes.slice(-1)[0].t1_us ?? -Infinity;
    return probe.t1_us >= Math.max(lastUs, this.#cleanAfterUs);
  }

  /** @param {Probe} probe */
  #breakAt(probe) {
    this.break_count += 1;
    this.#isOpen = false;
    this.#cleanAfterUs = probe.t4_us;
    this.#lastSegment()?.retreat(probe);
    this.#dropEmptySegments();
  }

  #forgetOldest() {
    this.#segments[0].forgetOldest();
    this.#dropEmptySegments();
  }

  #dropEmptySegments() {
    this.#segments = this.#segments.filter((segment) => segment.probes.length > 0);
    this.#isOpen = this.#isOpen && this.#segments.length > 0;
  }
}

/**
 * @param {ClockState} state
 * @returns {ClockReading}
 */
function withoutOffset(state) {
  return { offset_us: null, bound_us: null, state };
}
