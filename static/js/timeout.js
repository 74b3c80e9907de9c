/** `AbortSignal.timeout`, also for browsers that do not have it (Safari before 16, Chrome before 103). */

/**
 * A signal that aborts after a time.
 *
 * @param {number} delayMs
 * @returns {AbortSignal}
 */
export function timeoutSignal(delayMs) {
  if (AbortSignal.timeout) return AbortSignal.timeout(delayMs);
  const controller = new AbortController();
  setTimeout(() => controller.abort(), delayMs);
  return controller.signal;
}
