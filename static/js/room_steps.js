/** Which of the room's views a phone shows. Pure. */

/** @typedef {import("./forgetting.js").ForgettingState} ForgettingState */
/** @typedef {import("./room_types.js").Assignment} Assignment */
/** @typedef {import("./room_types.js").RoomProblem} RoomProblem */
/** @typedef {import("./room_types.js").RoomState} RoomState */

/**
 * `none`: nothing is open, so the page is about listening. `busy`: others measure. `lost`: the server has another room
 * by now. `forgotten`: this phone has had deleted what was recorded about it. `between`: the next round is near.
 *
 * @typedef {"none" | "join" | "busy" | "removed" | "lost" | "forgotten" | "lobby" | "countdown" | "round" | "between"
 *   | "paused" | "finished" | "closed"} Step
 */

/**
 * @param {RoomState | null} room what the worker says, once this phone tried to join
 * @param {Assignment | null} seen what the page saw before
 * @param {ForgettingState | null} [forgetting]
 * @returns {Step}
 */
export function stepOf(room, seen, forgetting = null) {
  if (room?.step === "in") return room.assignment === null ? "lobby" : stepInside(room.assignment);
  if (seen?.you.removed) return "removed";
  const isTold = forgetting !== null && forgetting !== "ask";
  const isLost = problemsOutside(room, forgetting).includes("run_lost");
  if (seen === null || seen.phase === "closed") return isLost ? "lost" : isTold ? "forgotten" : "none";
  if (seen.phase === "gathering" || seen.you.joined || mayComeBack(seen)) return "join";
  if (isTold) return "forgotten";
  return seen.phase === "finished" ? "none" : "busy";
}

/**
 * Whether this phone has left an experiment that goes on: its seat is kept for it.
 *
 * @param {Assignment} seen
 */
export function mayComeBack({ phase, you }) {
  return you.seat !== null && !you.joined && !["closed", "gathering", "finished"].includes(phase);
}

/**
 * What the worker complains of. Who has had everything deleted lost its seat by that: the server was not started anew.
 *
 * @param {RoomState | null} room
 * @param {ForgettingState | null} forgetting
 * @returns {RoomProblem[]}
 */
export function problemsOutside(room, forgetting) {
  const isOwnDoing = forgetting === "doing" || forgetting === "done";
  return (room?.problems ?? []).filter((problem) => !(isOwnDoing && problem === "run_lost"));
}

/**
 * @param {Assignment} assignment
 * @returns {Step}
 */
function stepInside({ phase, trial }) {
  if (phase === "finished" || phase === "closed" || phase === "countdown") return phase;
  if (trial !== null) return "round";
  if (phase === "gathering") return "lobby";
  return phase === "paused" ? "paused" : "between";
}
