/** How long to wait before another try. */

const BACKOFF_FIRST_MS = 1_000;

/** Long enough to leave a struggling server alone, short enough that nobody reloads the page. */
const BACKOFF_MAX_MS = 30_000;

/**
 * The wait before a try, doubling, with half of it random so that a room of phones does not come back at once.
 *
 * @param {number} failedCount tries that failed so far, at least 1
 * @param {() => number} random
 */
export function backoffMs(failedCount, random) {
  const fullMs = Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** (failedCount - 1));
  return fullMs / 2 + (fullMs / 2) * random();
}
