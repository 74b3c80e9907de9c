/** What the room says in words, for the big screen and the operator's page. Pure: state and catalogue in, text out. */

import { formatBoundMs, formatCount, formatMs } from "../format.js";
import { armTitle } from "./arms.js";

/** @typedef {import("./types.js").Seat} Seat */
/** @typedef {import("./types.js").RoomState} RoomState */
/** @typedef {import("./types.js").Speech} Speech */
/** @typedef {{state: "good" | "fair" | "waiting" | "bad", text: string}} Tick */

const MARKS = { good: "✓", fair: "•", waiting: "…", bad: "!" };

/** U_max (../clocksync.js): samples with a wider bound are left out. */
const CLOCK_BOUND_MS_MAX = 5;

/** A radio whose packets wander more than this is told apart: Wi-Fi that dozes does so. */
const RADIO_JITTER_MS_MAX = 30;

/**
 * What a phone has to be before it can measure, each as a mark and words.
 *
 * @param {Seat} seat
 * @param {Speech} speech
 * @returns {Tick[]}
 */
export function seatTicks(seat, speech) {
  return [
    connectedTick(seat, speech),
    awakeTick(seat, speech),
    clockTick(seat, speech),
    radioTick(seat, speech),
  ];
}

/**
 * @param {Tick} tick
 */
export function tickText({ state, text }) {
  return `${MARKS[state]} ${text}`;
}

/**
 * @param {Seat} seat
 * @param {Speech} speech
 * @returns {Tick}
 */
function connectedTick({ checks = {}, away }, { t }) {
  if (away) return { state: "bad", text: t("seat.away") };
  for (const transport of /** @type {const} */ (["sse", "socketio"]))
    if (checks[transport] === "failed")
      return { state: "bad", text: t("seat.unreached", { transport: t(`transport.${transport}`) }) };
  const isGood = checks.sse === "ok" && checks.socketio === "ok";
  return { state: isGood ? "good" : "waiting", text: t("seat.connected") };
}

/**
 * @param {Seat} seat
 * @param {Speech} speech
 * @returns {Tick}
 */
function awakeTick({ visible, awake }, { t }) {
  if (visible === false) return { state: "bad", text: t("seat.hidden") };
  // Without a wake lock (plain http) only the screen's own timeout keeps it on: in order, and not certain.
  return awake ? { state: "good", text: t("seat.awake") } : { state: "fair", text: t("seat.screen_on") };
}

/**
 * @param {Seat} seat
 * @param {Speech} speech
 * @returns {Tick}
 */
function clockTick({ checks = {}, clock_bound_ms }, { t, language }) {
  if (checks.clock === "failed") return { state: "bad", text: t("seat.clock") };
  if (clock_bound_ms === null || clock_bound_ms === undefined)
    return { state: "waiting", text: t("seat.clock") };
  const bound = formatBoundMs(clock_bound_ms, language);
  if (clock_bound_ms > CLOCK_BOUND_MS_MAX) return { state: "bad", text: t("seat.clock_wide", { bound }) };
  return { state: "good", text: t("seat.clock_bound", { bound }) };
}

/**
 * @param {Seat} seat
 * @param {Speech} speech
 * @returns {Tick}
 */
function radioTick({ jitter_ms }, { t, language }) {
  if (jitter_ms === null || jitter_ms === undefined) return { state: "waiting", text: t("seat.radio") };
  const text = t("seat.radio_jitter", { jitter: formatMs(jitter_ms, language) });
  return { state: jitter_ms > RADIO_JITTER_MS_MAX ? "bad" : "good", text };
}

/**
 * "4 of 6 ready: starts by itself", and what it is waiting for. Who counts as ready the server says: it starts by that.
 *
 * @param {Pick<RoomState, "wanted_count" | "joined_count" | "ready_count">} room
 * @param {Speech} speech
 */
export function readyWords({ wanted_count, joined_count, ready_count }, { t, language }) {
  const values = {
    ready: formatCount(ready_count, language),
    joined: formatCount(joined_count, language),
    wanted: formatCount(wanted_count, language),
  };
  if (joined_count === 0) return t("lobby.nobody", values);
  return t(joined_count < wanted_count ? "lobby.gathering" : "lobby.checking", values);
}

/**
 * Where the experiment stands, in one line.
 *
 * @param {RoomState} room
 * @param {Speech} speech
 */
export function phaseWords(room, speech) {
  const { t } = speech;
  if (room.phase === "closed" && room.closed_because) return t(`phase.${room.closed_because}`);
  if (room.phase === "gathering" && room.practice) return t("phase.practice");
  if (room.phase !== "running") return t(`phase.${room.phase}`);
  if (room.trial === null) return t("phase.between");
  return t(`phase.trial_${room.trial.state}`, {
    transport: armTitle(room.trial.transport, speech),
    phones: phonesWords(room.trial.clients, speech),
  });
}

/**
 * @param {number} count
 * @param {Speech} speech
 */
function phonesWords(count, { t, language }) {
  return t(count === 1 ? "phones.one" : "phones.many", { count: formatCount(count, language) });
}

/**
 * "Round 5 of 24"; nothing before the runner has said where it is.
 *
 * @param {Pick<RoomState, "round" | "rounds">} room
 * @param {Speech} speech
 */
export function roundWords({ round, rounds }, { t, language }) {
  if (!round || !rounds) return "";
  return t("round.of", { round: formatCount(round, language), rounds: formatCount(rounds, language) });
}

/**
 * Minutes and seconds as a clock shows them: "3:05".
 *
 * @param {number} lengthS
 */
export function clockText(lengthS) {
  const wholeS = Math.max(0, Math.ceil(lengthS));
  return `${Math.floor(wholeS / 60)}:${String(wholeS % 60).padStart(2, "0")}`;
}

/**
 * A length for people: "about 9 min", "about 40 s".
 *
 * @param {number} lengthS
 * @param {Speech} speech
 */
export function lengthWords(lengthS, { t, language }) {
  if (lengthS < 90)
    return t("length.seconds", { count: formatCount(Math.ceil(lengthS / 10) * 10, language) });
  return t("length.minutes", { count: formatCount(Math.ceil(lengthS / 60), language) });
}

/**
 * @param {number | null | undefined} value
 * @param {Speech} speech
 */
export function msOrNothing(value, { language }) {
  return value === null || value === undefined ? "–" : formatMs(value, language);
}
