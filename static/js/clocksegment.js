/**
 * One unbroken stretch of the client's clock: its probes, and a model for each window of 60 s.
 *
 * The same steps in the same order as `app/core/clocksync/segment.py`, which explains them.
 */

import { ClockModel } from "./clockmodel.js";

/** @typedef {import("./clockmodel.js").Probe} Probe */
/** @typedef {import("./clockmodel.js").Tolerances} Tolerances */

/** Windows begin this far apart and last twice as long. */
const HALF_WINDOW_US = 30_000_000;

/** A sample needs a probe this near; within a window two such probes check each other. */
const REACH_US = 15_000_000;

/**
 * How many of the sorted items have a key at or below the limit (Python's `bisect_right`).
 *
 * @template T
 * @param {readonly T[]} items
 * @param {number} limit
 * @param {(item: T) => number} key
 */
export function countUpTo(items, limit, key) {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (limit < key(items[middle])) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Probes that one clock explains, in the order in which they were sent. */
export class ClockSegment {
  /** @type {Probe[]} */
  probes = [];
  /** @type {Map<number, ClockModel>} */
  #windows = new Map();
  #originUs = 0;
  #tolerances;

  /**
   * @param {string} timebase
   * @param {Tolerances} tolerances
   */
  constructor(timebase, tolerances) {
    this.timebase = timebase;
    this.#tolerances = tolerances;
  }

  /** When the first probe was sent, client clock; only while there is one. */
  get start_us() {
    return this.probes[0].t1_us;
  }

  /** When the last probe was answered, client clock; only while there is one. */
  get end_us() {
    return this.probes[this.probes.length - 1].t4_us;
  }

  /**
   * Narrow the windows by a probe. False, and nothing changed, when it contradicts the probes in one.
   *
   * @param {Probe} probe
   */
  add(probe) {
    if (this.probes.length === 0) this.#originUs = probe.t1_us;
    /** @type {[number, ClockModel][]} */
    const narrowed = [];
    for (const number of this.#windowNumbers(probe.t1_us)) {
      const window = this.#windows.get(number);
      const model = window ? window.withProbe(probe) : ClockModel.start(probe, this.#tolerances);
      if (model === null) return false;
      narrowed.push([number, model]);
    }
    for (const [number, model] of narrowed) this.#windows.set(number, model);
    this.probes.push(probe);
    return true;
  }

  /**
   * Drop the probes that may have been sent after the break which `breaking` revealed.
   *
   * @param {Probe} breaking
   */
  retreat(breaking) {
    let later = ClockModel.start(breaking, this.#tolerances);
    let brokenAfterUs = this.start_us;
    for (let index = this.probes.length - 1; index >= 0; index -= 1) {
      later = later?.withProbe(this.probes[index]) ?? null;
      if (later === null) {
        brokenAfterUs = this.probes[index].t1_us;
        break;
      }
    }
    const firstDropped = this.probes.find((probe) => probe.t4_us >= brokenAfterUs);
    this.probes = this.probes.filter((probe) => probe.t4_us < brokenAfterUs);
    if (firstDropped) this.#refitWindowsAfter(firstDropped.t1_us);
  }

  /** Let go of the probes of the first 30 s that still has any, and of the window that ends with them. */
  forgetOldest() {
    const oldest = this.#halfNumber(this.start_us);
    this.probes = this.probes.filter((probe) => this.#halfNumber(probe.t1_us) > oldest);
    this.#windows.delete(oldest - 1);
    if (this.probes.length === 0) this.#windows.clear();
  }

  /**
   * Whether probes within 15 s support a sample: on both sides, or before it while the session is live.
   *
   * @param {number} clientUs
   * @param {boolean} live
   */
  hasProbesAround(clientUs, live) {
    const after = countUpTo(this.probes, clientUs, (probe) => probe.t1_us);
    if (after === 0 || clientUs - this.probes[after - 1].t1_us > REACH_US) return false;
    if (after === this.probes.length) return live || clientUs <= this.end_us;
    return live || this.probes[after].t1_us - clientUs <= REACH_US;
  }

  /**
   * The narrower of the windows around a client time, else the nearest one; null without probes.
   *
   * @param {number} clientUs
   * @returns {ClockModel | null}
   */
  modelAt(clientUs) {
    const home = this.#halfNumber(clientUs);
    const earlier = this.#windows.get(home - 1);
    const later = this.#windows.get(home);
    if (earlier && later) return later.boundUs(clientUs) < earlier.boundUs(clientUs) ? later : earlier;
    return earlier ?? later ?? this.#nearestWindow(home);
  }

  /**
   * @param {number} home
   * @returns {ClockModel | null}
   */
  #nearestWindow(home) {
    const numbers = [...this.#windows.keys()];
    numbers.sort((one, other) => Math.abs(one - home) - Math.abs(other - home) || one - other);
    return this.#windows.get(numbers[0]) ?? null;
  }

  /** @param {number} clientUs */
  #refitWindowsAfter(clientUs) {
    const firstNumber = this.#windowNumbers(clientUs)[0];
    for (const number of [...this.#windows.keys()].filter((number) => number >= firstNumber)) {
      this.#windows.delete(number);
      const probes = this.probes.filter((probe) => this.#windowNumbers(probe.t1_us).includes(number));
      const model = ClockModel.fit(probes, this.#tolerances);
      if (model) this.#windows.set(number, model);
    }
  }

  /** @param {number} clientUs */
  #halfNumber(clientUs) {
    return Math.floor((clientUs - this.#originUs) / HALF_WINDOW_US);
  }

  /**
   * The windows that contain a client time, the earlier first; before the second half there is one.
   *
   * @param {number} clientUs
   */
  #windowNumbers(clientUs) {
    const half = this.#halfNumber(clientUs);
    return half > 0 ? [half - 1, half] : [0];
  }
}
