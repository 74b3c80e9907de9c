/**
 * What a trial has brought so far, put down piece by piece, so that a page that is loaded anew in the middle of it loses
 * nothing: the trial goes on from there, or what there is is posted as it is. Pure.
 *
 * A delay is put down with the clock as it was known by then, since the next page's clock begins anew.
 */

/** @typedef {import("./types.js").Sample} Sample */
/** @typedef {import("./types.js").BatchContext} BatchContext */
/** @typedef {import("./types.js").Conduct} Conduct */

/** What a reload may cost at most is fetched again by the transport's own resume; more often would be work in a trial. */
export const PIECE_PERIOD_US = 1_000_000;

/**
 * @typedef {{
 *   taken: {sample: Sample, context: BatchContext}[], seqs: number[], last_id: string | null,
 *   conduct: Conduct, context: BatchContext & {run: string, trial: number},
 * }} Piece what came since the piece before; `conduct` and what follows it are of the trial up to then
 */

/**
 * All of it; null when there is nothing.
 *
 * @param {Piece[]} pieces of one trial, the oldest first
 * @returns {Piece | null}
 */
export function leftOf(pieces) {
  const last = pieces.slice(-1)[0];
  if (last === undefined) return null;
  return {
    ...last,
    taken: pieces.flatMap(({ taken }) => taken),
    seqs: pieces.flatMap(({ seqs }) => seqs),
  };
}
