/** What came over one transport so far, counted. */

import { RunningMedian } from "./median.js";
import { delayUs, isUsable } from "./samples.js";

/** @typedef {import("./types.js").Sample} Sample */
/** @typedef {import("./types.js").TallyReading} TallyReading */

/** Counts of one transport, and the median of its delays. */
export class Tally {
  #received = 0;
  /** @type {Record<Sample["outcome"], number>} */
  #outcomes = { on_time: 0, late: 0, replayed: 0, duplicate: 0 };
  /** @type {TallyReading["left_out"]} */
  #leftOut = {};
  #median = new RunningMedian();

  /** Count an arrival at once; what became of it is known later. */
  addArrival() {
    this.#received += 1;
  }

  /** @param {Sample} sample */
  addSample(sample) {
    this.#outcomes[sample.outcome] += 1;
    if (sample.state !== "ok") this.#leftOut[sample.state] = (this.#leftOut[sample.state] ?? 0) + 1;
    const { clock_offset_us: offset_us, clock_bound_us: bound_us } = sample;
    const delay = delayUs(sample.received_client_us, { offset_us, bound_us, state: "ok" }, sample.due_us);
    if (isUsable(sample) && delay !== null && bound_us !== null) this.#median.add(delay, bound_us);
  }

  /**
   * @param {import("./types.js").Missing} missing
   * @returns {TallyReading}
   */
  read(missing) {
    return {
      received_count: this.#received,
      ...missing,
      duplicate_count: this.#outcomes.duplicate,
      replayed_count: this.#outcomes.replayed,
      late_count: this.#outcomes.late,
      left_out: { ...this.#leftOut },
      median: this.#median.read(),
    };
  }
}
