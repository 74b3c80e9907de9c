/** Shapes that the big screen and the operator's page share. No code. Names in snake_case are the wire's. */

/** @typedef {"closed" | "gathering" | "countdown" | "running" | "paused" | "finished"} RoomPhase */

/** @typedef {"ok" | "failed" | "waiting"} Check */

/**
 * A phone in the room, as everybody may see it.
 *
 * @typedef {{
 *   seat: number, name: string, model?: string | null, checks?: Partial<Record<"sse" | "socketio" | "clock", Check>>,
 *   ready?: boolean, visible?: boolean, awake?: boolean, connected?: boolean, away?: boolean, removed?: boolean, left?: boolean,
 *   clock_bound_ms?: number | null, rtt_ms?: number | null, jitter_ms?: number | null,
 * }} Seat
 */

/**
 * What was measured for one arm with one count of phones, over the valid blocks so far.
 *
 * @typedef {{
 *   delay_ms_p50: number | null, delay_ms_p25: number | null, delay_ms_p75: number | null,
 *   cpu_us_per_delivery: number | null,
 *   delivered: number, late: number, lost: number, asleep: number, blocks: number,
 * }} Cell
 */

/** @typedef {Record<string, Record<string, Cell>>} Results by arm, then by count of phones */

/** @typedef {{code: string, text: string}} Note what the runner lets people know, in the page's language */

/**
 * @typedef {{
 *   index: number, block: number, clients: number, transport: string, state: "connect" | "running" | "collect",
 *   expected_count?: number, rate_hz?: number, drain_ms?: number,
 *   first_due_us: number | null, ends_us: number | null, seats?: number[],
 * }} Trial
 */

/**
 * @typedef {{
 *   verdict: {code: string, sentence_en: string, sentence_id: string} | null,
 *   table: {headings: string[], headings_id?: string[], rows: (string | number | null)[][]} | null,
 *   downloads: {name: string, url: string}[],
 * }} Outcome
 */

/**
 * @typedef {{
 *   phase: RoomPhase, run: string | null, practice: boolean,
 *   wanted_count: number, joined_count: number, ready_count: number, length_s: number | null,
 *   trial: Trial | null, round: number | null, rounds: number | null, remaining_s: number | null, countdown_to_us: number | null,
 *   closed_because?: "runner_silent" | null,
 *   progress: {results?: Results, notes?: Note[]} | null, result: Outcome | null, server_us: number,
 * }} RoomState
 */

/** @typedef {{size: number, path: string}} QrCode dark squares of one unit with white around them, as the data of an SVG path */

/**
 * @typedef {RoomState & {
 *   participants: Seat[], join_url: string, join_code: string | null,
 *   join_code_required?: boolean, join_url_is_local?: boolean, qr: QrCode | null,
 * }} ScreenState
 */

/** @typedef {{t: import("../texts.js").Translate, language: string}} Speech */

export {};
