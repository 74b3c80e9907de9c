/**
 * Shapes of the room, as the server tells them and as the worker tells the page. No code.
 *
 * @typedef {"closed" | "gathering" | "countdown" | "running" | "paused" | "finished"} RoomPhase
 */

/** @typedef {"ok" | "failed" | "waiting"} CheckState */

/** @typedef {{sse: CheckState, socketio: CheckState, clock: CheckState}} Checks */

/**
 * Why a check failed. `buffered`: something between server and phone holds the stream back. `full`: the server answered,
 * and takes no more connections.
 *
 * @typedef {"buffered" | "full" | "unreachable" | "silent"} CheckReason
 */

/**
 * @typedef {{
 *   index: number, block: number, clients: number, transport: import("./types.js").Transport, take_part: boolean,
 *   expected_count: number, warmup_count: number, rate_hz: number, drain_ms: number, topic: string,
 *   factors: Record<string, any>, state: "connect" | "running" | "collect",
 *   first_due_us: number | null, ends_us: number | null,
 * }} Trial
 */

/**
 * What comes next for this phone.
 *
 * @typedef {{
 *   version: number, phase: RoomPhase, run: string | null, poll_after_ms: number, server_us: number,
 *   you: {
 *     device: string, name: string | null, seat: number | null, joined: boolean, removed: boolean,
 *     proposed_name?: string,
 *   },
 *   joined_count: number, wanted_count: number, ready_count: number, length_s: number | null,
 *   round: number | null, rounds: number | null, remaining_s: number | null, countdown_to_us: number | null,
 *   closed_because?: "runner_silent" | null, trial: Trial | null, result_url: string | null, practice: boolean, join_code_required?: boolean,
 * }} Assignment
 */

/**
 * Why this phone is not in the room, or cannot go on as it is.
 *
 * @typedef {"code_wrong" | "room_closed" | "server_away" | "server_refuses" | "slept" | "clock_jumped" | "hidden"
 *   | "disconnected" | "run_lost"} RoomProblem
 */

/**
 * The room's part of the worker's state.
 *
 * @typedef {{
 *   step: "joining" | "in" | "out", assignment: Assignment | null, checks: Checks,
 *   reasons: Partial<Record<keyof Checks, CheckReason>>, isChecking: boolean, isReady: boolean,
 *   problems: RoomProblem[], trial: TrialView | null, countdown_in_ms: number | null, remaining_ms: number | null,
 *   clock_bound_ms: number | null,
 * }} RoomState `countdown_in_ms` and `remaining_ms`: from when the page is told
 */

/**
 * @typedef {{index: number, transport: import("./types.js").Transport, state: "connecting" | "ready" | "running"
 *   | "posting" | "resting", received_count: number, expected_count: number, isConnected: boolean}} TrialView
 *   `resting`: others measure in this round
 */

export {};
