/** When a page that watches asks the server again: often between trials, and in a trial not at all. Pure. */

/** @typedef {import("./types.js").RoomState} RoomState */

const SOON_MS = 1_000;

/** Built-in clients may be measuring the server while no phone is in the room. */
const IDLE_MS = 5_000;

/** After the last stamp of a trial, so that the phones' answers come first. */
const AFTER_TRIAL_MS = 500;

/** Idle window and settling time before the first notification of a trial, about. */
const BEFORE_TRIAL_MS = 4_000;

/** Longer than any trial should take; a page that was told nonsense comes back. */
const TRIAL_MAX_MS = 120_000;

/**
 * @param {Pick<RoomState, "phase" | "trial">} room
 * @param {number} serverUs the server's time now
 */
export function nextAskMs({ phase, trial }, serverUs) {
  if (phase === "closed" || phase === "finished") return IDLE_MS;
  // A practice round is a trial too, while the room gathers.
  if (trial === null || trial.state === "collect") return SOON_MS;
  if (trial.ends_us !== null && trial.ends_us !== undefined) {
    const leftMs = (trial.ends_us - serverUs) / 1000;
    return leftMs < 0 ? SOON_MS : Math.min(leftMs + AFTER_TRIAL_MS, TRIAL_MAX_MS);
  }
  // Phones are connecting: the measuring begins any moment, so the next question waits for as long as all may take.
  return Math.min(BEFORE_TRIAL_MS + expectedMs(trial), TRIAL_MAX_MS);
}

/** @param {import("./types.js").Trial} trial */
function expectedMs({ expected_count = 0, rate_hz = 1, drain_ms = 0 }) {
  return (1000 * expected_count) / rate_hz + drain_ms;
}
