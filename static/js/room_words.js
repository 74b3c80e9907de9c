/** What the room's state says in words. Pure: state and catalogue in, text out. */

import { formatBoundMs, formatCount } from "./format.js";

/** @typedef {import("./room_types.js").Assignment} Assignment */
/** @typedef {import("./room_types.js").RoomState} RoomState */
/** @typedef {import("./words.js").Speech} Speech */

/**
 * How many are ready, and what that means.
 *
 * @param {Assignment | null} assignment
 * @param {boolean} isReady whether this phone is
 * @param {Speech} speech
 * @returns {[figure: string, words: string]}
 */
export function lobbyWords(assignment, isReady, { t, language }) {
  if (assignment === null) return ["", t("room.lobby_waiting")];
  const { ready_count, wanted_count } = assignment;
  const values = { ready: formatCount(ready_count, language), wanted: formatCount(wanted_count, language) };
  const words = !isReady
    ? "room.lobby_checking"
    : ready_count < wanted_count
      ? "room.lobby_more"
      : "room.lobby_soon";
  return [t("room.lobby_figure", values), t(words)];
}

/**
 * One check of the phone: what it is, how it went, and what to do.
 *
 * @param {"sse" | "socketio" | "clock" | "screen"} name
 * @param {"ok" | "failed" | "waiting" | "advice"} mark
 * @param {RoomState | null} room
 * @param {Speech} speech
 */
export function checkWords(name, mark, room, { t, language }) {
  if (mark === "failed" && name !== "screen") {
    const reason = room?.reasons[name] ?? "unreachable";
    return t(`room.check_${name}_${reason}`);
  }
  const boundMs = room?.clock_bound_ms ?? null;
  if (name === "clock" && mark === "ok" && boundMs !== null)
    return t("room.check_clock_bound", { bound: formatBoundMs(boundMs, language) });
  return t(`room.check_${name}_${mark}`);
}

/**
 * @param {import("./room_steps.js").Step} step
 * @param {RoomState | null} room
 * @param {Speech} speech
 */
export function roundWords(step, room, { t, language }) {
  if (step === "countdown") return t("room.countdown");
  const trial = room?.trial ?? null;
  if (trial === null || trial.state === "resting") return t("room.round_resting");
  if (trial.state !== "running") return t(`room.round_${trial.state}`);
  const values = {
    expected: formatCount(trial.expected_count, language),
    transport: t(`transport.${trial.transport}`),
  };
  return t("room.round_running", values);
}

/**
 * Which round it is, and how long the whole still takes.
 *
 * @param {Assignment | null} assignment
 * @param {Speech} speech
 */
export function leftWords(assignment, { t, language }) {
  const { round = null, rounds = null, remaining_s = null } = assignment ?? {};
  const count = (/** @type {number} */ value) => formatCount(value, language);
  const parts = [];
  if (round !== null && rounds !== null)
    parts.push(t("room.round", { round: count(round), rounds: count(rounds) }));
  if (remaining_s !== null)
    parts.push(t("room.left", { minutes: count(Math.max(1, Math.round(remaining_s / 60))) }));
  return parts.join(" · ");
}

/**
 * @param {import("./room_steps.js").Step} step
 * @param {{
 *   assignment: Assignment | null, room: RoomState | null,
 *   forgetting?: import("./forgetting.js").ForgettingState | null,
 * }} state
 * @param {Speech} speech
 */
export function stateWords(step, { assignment, forgetting }, { t }) {
  if (step === "forgotten") return t(forgetting === "done" ? "room.forgotten" : `room.forget_${forgetting}`);
  if (step === "closed" && assignment?.closed_because) return t(`room.say_${assignment.closed_because}`);
  const key =
    step === "finished" && !assignment?.result_url ? "room.say_finished_without" : `room.say_${step}`;
  return t(key);
}
