/** Shapes of the operator's page. No code. Names in snake_case are the wire's. */

/** @typedef {import("../screen/types.js").RoomState} RoomState */
/** @typedef {import("../screen/types.js").Seat} Seat */

/** @typedef {{name: string, transport: string, factors?: Record<string, string | number | boolean>}} Arm */

/**
 * A plan as the server keeps it; what this page does not change goes back as it came.
 *
 * @typedef {{
 *   arms: Arm[], client_counts: number[], blocks: number, notifications: number, warmup_notifications: number,
 *   rate_hz: number, payload_bytes: number, profile: string, [other: string]: any,
 * }} Plan
 */

/** @typedef {{id: string, title_key: string, text_key: string, plan: Plan, length_s: number, built_in: boolean}} Preset */

/** @typedef {Seat & {device: string}} OperatorSeat */

/**
 * @typedef {RoomState & {
 *   participants: OperatorSeat[], join_url?: string, join_code?: string | null, join_url_is_local?: boolean, screen_url?: string | null,
 *   plan: Partial<Plan>, pause_wanted?: boolean,
 * }} OperatorRoom
 */

/**
 * A connection, whatever its transport.
 *
 * @typedef {{
 *   device: string | null, name: string | null, transport: "sse" | "socketio", path: string, connected_us: number,
 *   rtt_ms: number | null, jitter_ms: number | null, clock_bound_ms: number | null, last_seen_us: number | null,
 *   buffered_bytes: number | null, topics: string[] | null,
 * }} Device
 */

/**
 * @typedef {{
 *   id: string, started: string | null, state: string, complete: boolean | null, profile: string | null,
 *   simulated: boolean | null, phones: number | null, verdict: any,
 *   problem?: string | null,
 * }} Run
 */

/**
 * What a phone answered at /selftest.
 *
 * @typedef {{
 *   device: string, received_us: number, remarks: string, steps: import("../selftest/words.js").Answered[],
 *   facts: {model?: string | null, browser?: string | null},
 * }} SelfTest
 */

/** @typedef {{title: string, body: string, topic: string, target: "all" | "sse" | "socketio" | "chosen"}} Wanted */

/** @typedef {{transport?: string, devices?: string[]}} Targets */
/** @typedef {{title: string, body: string, topic: string, targets?: Targets, force?: boolean}} Publish */

/** @typedef {Publish & {id: string, sent_us: number}} Sent a notification that was sent, newest first in lists */

/**
 * @typedef {{
 *   recipients_count: number, delivered_count: number,
 *   slowest: {device: string, name: string | null, delay_ms: number} | null,
 *   devices: {device: string, name: string | null, transport: string, delay_ms: number | null,
 *     bound_ms: number | null, outcome: string}[],
 * }} Receipt
 */

/** @typedef {{receipt: Receipt, is_over: boolean}} Followed */

/**
 * Everything that the page shows.
 *
 * @typedef {{
 *   session: "unknown" | "in" | "out", problem: string, word: string, sign_in_problem: string,
 *   room: OperatorRoom | null, heard_us: number, devices: Device[], presets: Preset[], runs: Run[],
 *   history: Sent[], followed: Followed | null, chosen: Set<string>, compared: Set<string>, deleted_run: string | null, starting_run: string | null,
 *   is_changing: boolean, self_tests: SelfTest[] | null, wants_self_tests: boolean,
 * }} PageState `heard_us`: server time of the room's last answer. `is_changing`: the form is open though a result is shown.
 *   `self_tests`: null as long as nobody wanted to see them
 */

/** @typedef {{t: import("../texts.js").Translate, language: string}} Speech */

export {};
