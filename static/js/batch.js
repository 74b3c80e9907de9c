/** Which of the waiting samples go into the next batch. */

/** @typedef {import("./types.js").Sample} Sample */
/** @typedef {import("./types.js").BatchContext} BatchContext */
/** @typedef {{sample?: Sample, conduct?: import("./types.js").Conduct, context: BatchContext}} Waiting one of the two */

export const SAMPLES_PER_BATCH_MAX = 200;

/** The server takes 32,768 bytes; the rest is for the batch's own fields. */
export const SAMPLES_BYTES_MAX = 32_768 - 1_024;

/**
 * How many of the first waiting samples make one batch: of one context, within the server's limits, at least one.
 *
 * @param {readonly Waiting[]} waiting not empty
 */
export function countForBatch(waiting) {
  if (waiting[0].conduct !== undefined) return 1;
  const context = JSON.stringify(waiting[0].context);
  let bytes = 0;
  let count = 0;
  for (const each of waiting.slice(0, SAMPLES_PER_BATCH_MAX)) {
    if (each.conduct !== undefined) break;
    // Ids, states and numbers are ASCII: one byte per character, and one for the comma.
    bytes += JSON.stringify(each.sample).length + 1;
    if (count > 0 && (bytes > SAMPLES_BYTES_MAX || JSON.stringify(each.context) !== context)) break;
    count += 1;
  }
  return count;
}
