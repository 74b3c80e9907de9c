/** How long questions to the clock took: the way to the server, how steady it is, and whether the radio dozes. */

import { median } from "./median.js";

/** Of all questions nearly three minutes, and of those that opened a burst some twenty. */
const KEPT_MAX = 256;

/** The first probe after seconds of silence wakes the radio; the others of its burst find it awake. */
export class RoundTrips {
  /** @type {number[]} */
  #all = [];
  /** @type {number[]} */
  #first = [];

  /**
   * @param {number} rttUs
   * @param {{isFirst: boolean}} place whether it opened a burst
   */
  add(rttUs, { isFirst }) {
    keep(this.#all, rttUs);
    if (isFirst) keep(this.#first, rttUs);
  }

  /** All in milliseconds; null before the first answer. */
  read() {
    if (this.#all.length === 0) return { rtt_ms: null, jitter_ms: null, radio_jitter_ms: null };
    const sorted = [...this.#all].sort((one, other) => one - other);
    const quantile = (/** @type {number} */ share) => sorted[Math.floor(share * (sorted.length - 1))];
    return {
      rtt_ms: rounded(median(this.#all)),
      jitter_ms: rounded(quantile(0.9) - quantile(0.5)),
      radio_jitter_ms: this.#first.length === 0 ? null : rounded(median(this.#first) - sorted[0]),
    };
  }
}

/**
 * @param {number[]} kept
 * @param {number} value
 */
function keep(kept, value) {
  kept.push(value);
  if (kept.length > KEPT_MAX) kept.shift();
}

/** @param {number} valueUs */
function rounded(valueUs) {
  return Math.round(valueUs / 10) / 100;
}
