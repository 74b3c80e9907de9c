/** The running median of delay, with a bound that is as hard as the clock's. */

/** @typedef {import("./types.js").MedianReading} MedianReading */

/** At two notifications per second the last eight minutes; older ones drop out of the median on the page. */
export const SAMPLE_COUNT_MAX = 1_000;

/**
 * The middle of the values, or the mean of the two middle ones.
 *
 * @param {readonly number[]} values at least one
 */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The median of the last delays, each known to within its own bound. */
export class RunningMedian {
  /** @type {{delay_us: number, bound_us: number}[]} */
  #samples = [];

  /**
   * @param {number} delayUs
   * @param {number} boundUs
   */
  add(delayUs, boundUs) {
    this.#samples.push({ delay_us: delayUs, bound_us: boundUs });
    if (this.#samples.length > SAMPLE_COUNT_MAX) this.#samples.shift();
  }

  /**
   * The median and how far it can be from the true one. Every true delay is at most its d + u, so their median is at
   * most the median of d + u, and likewise from below: order statistics are monotone.
   *
   * @returns {MedianReading | null} null without a sample
   */
  read() {
    if (this.#samples.length === 0) return null;
    const middleUs = median(this.#samples.map(({ delay_us }) => delay_us));
    const highUs = median(this.#samples.map(({ delay_us, bound_us }) => delay_us + bound_us));
    const lowUs = median(this.#samples.map(({ delay_us, bound_us }) => delay_us - bound_us));
    return {
      delay_ms: middleUs / 1000,
      bound_ms: Math.max(highUs - middleUs, middleUs - lowUs) / 1000,
      sample_count: this.#samples.length,
    };
  }
}
