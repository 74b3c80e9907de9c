/** Which of the waiting samples go into the next batch. */

/** @typedef {import("./types.js").Sample} Sample */
/** @typedef {import("./types.js").BatchContext} BatchContext */
/** @typedef {import("./types.js").ProbeStamps} ProbeStamps */

/**
 * One of the three, and to what it belongs.
 *
 * @typedef {{
 *   sample?: Sample, conduct?: import("./types.js").Conduct, probes?: ProbeStamps[], context: BatchContext,
 * }} Waiting
 */

export const SAMPLES_PER_BATCH_MAX = 200;

/** About 60 bytes each. */
export const PROBES_PER_BATCH_MAX = 400;

/** The server takes 32,768 bytes; the rest is for the batch's own fields. */
export const SAMPLES_BYTES_MAX = 32_768 - 1_024;

/**
 * Probes in the order in which they were taken, as parts of one timebase that each make a batch.
 *
 * @param {{timebase: string, stamps: ProbeStamps}[]} taken
 * @returns {{timebase: string, probes: ProbeStamps[]}[]}
 */
export function probeBatches(taken) {
  /** @type {{timebase: string, probes: ProbeStamps[]}[]} */
  const batches = [];
  for (const { timebase, stamps } of taken) {
    const last = batches.slice(-1)[0];
    if (last?.timebase === timebase && last.probes.length < PROBES_PER_BATCH_MAX) last.probes.push(stamps);
    else batches.push({ timebase, probes: [stamps] });
  }
  return batches;
}

/**
 * How many of the first waiting samples make one batch: of one context, within the server's limits, at least one.
 *
 * @param {readonly Waiting[]} waiting not empty
 */
export function countForBatch(waiting) {
  if (waiting[0].sample === undefined) return 1;
  const context = JSON.stringify(waiting[0].context);
  let bytes = 0;
  let count = 0;
  for (const each of waiting.slice(0, SAMPLES_PER_BATCH_MAX)) {
    if (each.sample === undefined) break;
    // Ids, states and numbers are ASCII: one byte per character, and one for the comma.
    bytes += JSON.stringify(each.sample).length + 1;
    if (count > 0 && (bytes > SAMPLES_BYTES_MAX || JSON.stringify(each.context) !== context)) break;
    count += 1;
  }
  return count;
}
