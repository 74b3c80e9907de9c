/** Numbers and times as people of a language write them. Pure. */

/**
 * Milliseconds with one digit behind the point.
 *
 * @param {number} valueMs
 * @param {string} language
 */
export function formatMs(valueMs, language) {
  // A delay that rounds to zero from below is zero, not "-0.0".
  return oneDigit(language).format(Math.round(valueMs * 10) / 10 + 0);
}

/**
 * A bound, rounded up: rounded down it would no longer be one.
 *
 * @param {number} boundMs
 * @param {string} language
 */
export function formatBoundMs(boundMs, language) {
  return oneDigit(language).format(Math.ceil(boundMs * 10 - 1e-9) / 10);
}

/**
 * @param {number} count
 * @param {string} language
 */
export function formatCount(count, language) {
  return new Intl.NumberFormat(language).format(count);
}

/**
 * The time of day.
 *
 * @param {number} timeUs microseconds since 1970
 * @param {string} language
 */
export function formatTime(timeUs, language) {
  return new Date(timeUs / 1000).toLocaleTimeString(language);
}

/** @param {string} language */
function oneDigit(language) {
  return new Intl.NumberFormat(language, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
}
