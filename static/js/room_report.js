/** What a phone in a room says of itself: to the server, and to its own page. Pure. */

/** @typedef {import("./device_client.js").Answer} Answer */
/** @typedef {import("./room_types.js").RoomProblem} RoomProblem */
/** @typedef {import("./trial_session.js").TrialSession} TrialSession */

/** One request without a good answer is a hiccup; from the second on the page says so. */
const FAILED_TRIES_TOLD = 2;

/**
 * The body of `POST /api/assignment`; what is not known is left out.
 *
 * @param {{
 *   checks: import("./room_types.js").Checks, isReady: boolean, isVisible: boolean, isAwake: boolean,
 *   trial: Pick<TrialSession, "isConnected" | "isReady" | "index"> | null, isPosting: boolean,
 *   trialDone: number | null, boundMs: number | null,
 *   roundTrips: ReturnType<import("./round_trips.js").RoundTrips["read"]>,
 * }} phone
 */
export function reportOf({
  checks,
  isReady,
  isVisible,
  isAwake,
  trial,
  isPosting,
  trialDone,
  boundMs,
  roundTrips,
}) {
  const { rtt_ms, radio_jitter_ms, jitter_ms } = roundTrips;
  // What a dozing radio adds says more about a phone than how its awake radio varies.
  const jitterMs = radio_jitter_ms ?? jitter_ms;
  return {
    checks,
    ready: isReady,
    visible: isVisible,
    awake: isAwake,
    connected: trial?.isConnected ?? false,
    ...(boundMs === null ? {} : { clock_bound_ms: boundMs }),
    ...(rtt_ms === null ? {} : { rtt_ms }),
    ...(jitterMs === null ? {} : { jitter_ms: jitterMs }),
    ...(trial?.isReady && !isPosting ? { trial_ready: trial.index } : {}),
    ...(trialDone === null ? {} : { trial_done: trialDone }),
  };
}

/**
 * The present trial, as the page shows it.
 *
 * @param {import("./room_types.js").Trial | null} assigned
 * @param {TrialSession | null} trial this phone's part in it
 * @param {boolean} isPosting
 * @returns {import("./room_types.js").TrialView | null}
 */
export function trialViewOf(assigned, trial, isPosting) {
  if (assigned === null) return null;
  const own = trial?.index === assigned.index ? trial : null;
  return {
    index: assigned.index,
    transport: assigned.transport,
    state: own === null ? "resting" : isPosting ? "posting" : stepOf(own),
    received_count: own?.receivedCount ?? 0,
    expected_count: assigned.expected_count,
    isConnected: own?.isConnected ?? false,
  };
}

/**
 * What a person should know or do, the most urgent thing first.
 *
 * @param {{
 *   refusal: RoomProblem | null, failedTries: number, lastFailure: Answer, isVisible: boolean, hasSlept: boolean,
 *   trial: TrialSession | null, isPosting: boolean,
 * }} phone
 * @returns {RoomProblem[]}
 */
export function problemsOf({ refusal, failedTries, lastFailure, isVisible, hasSlept, trial, isPosting }) {
  if (refusal !== null) return [refusal];
  if (failedTries >= FAILED_TRIES_TOLD) return [failureOf(lastFailure)];
  /** @type {RoomProblem[]} */
  const problems = [];
  if (!isVisible) problems.push("hidden");
  if (hasSlept) problems.push("slept");
  else if (trial?.hasClockJumped) problems.push("clock_jumped");
  if (trial?.hasBegun && !trial.isConnected && !isPosting) problems.push("disconnected");
  return problems;
}

/**
 * Why a phone was not let in.
 *
 * @param {Answer} answer
 * @returns {RoomProblem}
 */
export function refusalOf(answer) {
  if (answer.status === 403) return "code_wrong";
  return answer.status === 409 ? "room_closed" : failureOf(answer);
}

/**
 * Whether it was the server that refused: its problem documents have a code.
 *
 * @param {Answer} answer
 * @returns {RoomProblem}
 */
function failureOf({ body }) {
  return body?.code ? "server_refuses" : "server_away";
}

/** @param {TrialSession} trial */
function stepOf(trial) {
  if (trial.hasBegun || trial.endsUs !== null) return "running";
  return trial.isReady ? "ready" : "connecting";
}
