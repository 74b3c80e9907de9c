/**
 * When a client asks the clock: 32 probes at the start, bursts of 8 about every 5 s, 16 at the end.
 *
 * `random` is `Math.random`, or any function that returns the next number in [0, 1).
 */

/** Enough for a bound near the path's own limit before the first notification is sent. */
export const START_PROBE_COUNT = 32;

/** The first probe of a burst wakes a dozing radio; the others then meet it awake. */
export const BURST_PROBE_COUNT = 8;

/** Closes the polygon after the last samples, which otherwise would be extrapolated. */
export const END_PROBE_COUNT = 16;

/** Random within these limits, so that probes do not fall into step with Wi-Fi beacons (102.4 ms). */
const PROBE_SPACING_MIN_US = 15_000;
const PROBE_SPACING_MAX_US = 40_000;

/** From the start of a burst to the next: the period, plus or minus the jitter. */
const BURST_PERIOD_US = 5_000_000;
const BURST_JITTER_US = 1_000_000;

/**
 * When to send each probe of a burst, microseconds after its start; the first at 0.
 *
 * @param {number} probeCount
 * @param {() => number} random
 */
export function burstUs(probeCount, random) {
  const timesUs = [];
  let timeUs = 0;
  for (let index = 0; index < probeCount; index += 1) {
    timesUs.push(timeUs);
    timeUs += uniform(PROBE_SPACING_MIN_US, PROBE_SPACING_MAX_US, random);
  }
  return timesUs;
}

/**
 * From the start of one burst to the start of the next, microseconds.
 *
 * @param {() => number} random
 */
export function burstPeriodUs(random) {
  return uniform(BURST_PERIOD_US - BURST_JITTER_US, BURST_PERIOD_US + BURST_JITTER_US, random);
}

/**
 * @param {number} low
 * @param {number} high
 * @param {() => number} random
 */
function uniform(low, high, random) {
  return low + (high - low) * random();
}
