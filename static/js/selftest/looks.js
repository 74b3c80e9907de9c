/** The steps that need nobody: both transports to their first byte, the clock, the timer's step, the wake lock. */

import { checkSocketIo, checkSse } from "../checks.js";
import { WakeLock } from "../wake_lock.js";

/** @typedef {import("./steps.js").Answer} Answer */

/** The first burst of probes takes a second; a bound wider than this is too wide for delays. */
const CLOCK_WAIT_MS = 8_000;
const CLOCK_LOOK_MS = 200;

/** A browser that rounds its clock more coarsely than this cannot tell delays of milliseconds apart. */
const TIMER_STEP_US_MAX = 1_000;
const TIMER_STEPS = 20;

/**
 * @param {{
 *   fetch: (url: string, options?: RequestInit) => Promise<Response>,
 *   openStream: import("../types.js").OpenStream, navigator: Navigator,
 *   keeper: Pick<import("../clock_keeper.js").ClockKeeper, "status">,
 *   timers: import("../types.js").Timers, nowUs: () => number,
 * }} dependencies
 * @returns {Record<string, () => Promise<Answer>>}
 */
export function makeLooks(dependencies) {
  return {
    sse: async () => answerOf(await checkSse(dependencies)),
    socketio: async () => answerOf(await checkSocketIo(dependencies)),
    clock: () => lookAtClock(dependencies),
    timer: async () => lookAtTimer(dependencies.nowUs),
    wake_lock: () => lookAtWakeLock(dependencies.navigator),
  };
}

/**
 * @param {import("../checks.js").CheckResult} result
 * @returns {Answer}
 */
function answerOf({ state, reason }) {
  return state === "ok" ? { state: "passed" } : { state: "failed", reason: reason ?? "unreachable" };
}

/**
 * @param {Parameters<typeof makeLooks>[0]} dependencies
 * @returns {Promise<Answer>}
 */
async function lookAtClock({ keeper, nowUs, timers }) {
  const untilUs = nowUs() + CLOCK_WAIT_MS * 1000;
  for (;;) {
    const { state, bound_us, channel } = keeper.status();
    /** @type {Record<string, number>} */
    const figures = bound_us === null ? {} : { bound_ms: Math.ceil(bound_us / 100) / 10 };
    if (state === "ok")
      return { state: "passed", figures, ...(channel === "http" ? { reason: "clock_http" } : {}) };
    if (nowUs() > untilUs)
      return { state: "failed", reason: state === "wide_u" ? "clock_wide" : "silent", figures };
    await new Promise((resolve) => timers.setTimeout(() => resolve(undefined), CLOCK_LOOK_MS));
  }
}

/**
 * The smallest step that the clock is seen to make.
 *
 * @param {() => number} nowUs
 * @returns {Answer}
 */
export function lookAtTimer(nowUs) {
  let smallest = Infinity;
  for (let step = 0; step < TIMER_STEPS; step += 1) {
    const before = nowUs();
    let after = nowUs();
    while (after === before) after = nowUs();
    smallest = Math.min(smallest, after - before);
  }
  const figures = { step_us: Math.round(smallest) };
  return smallest <= TIMER_STEP_US_MAX
    ? { state: "passed", figures }
    : { state: "failed", reason: "coarse", figures };
}

/**
 * @param {Navigator} navigator
 * @returns {Promise<Answer>}
 */
export async function lookAtWakeLock(navigator) {
  const lock = new WakeLock(navigator, () => {});
  if (!lock.isPossible) return { state: "skipped", reason: "insecure" };
  await lock.hold();
  const { isHeld } = lock;
  lock.release();
  return isHeld ? { state: "passed" } : { state: "failed", reason: "wake_refused" };
}
