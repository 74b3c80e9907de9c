/** Which of the room's views a phone shows. Pure. */

/** @typedef {import("./room_types.js").Assignment} Assignment */
/** @typedef {import("./room_types.js").RoomState} RoomState */

/**
 * `none`: nothing is open, so the page is about listening. `busy`: others measure. `lost`: the server has another room by now. `between`: the next round is near.
 *
 * @typedef {"none" | "join" | "busy" | "removed" | "lost" | "lobby" | "countdown" | "round" | "between" | "paused"
 *   | "finished" | "closed"} Step
 */

/**
 * @param {RoomState | null} room what the worker says, once this phone tried to join
 * @param {Assignment | null} seen what the page saw before
 * @returns {Step}
 */
export function stepOf(room, seen) {
  if (room?.step === "in") return room.assignment === null ? "lobby" : stepInside(room.assignment);
  if (seen?.you.removed) return "removed";
  const isLost = room?.problems.includes("run_lost") ?? false;
  if (seen === null || seen.phase === "closed") return isLost ? "lost" : "none";
  if (seen.phase === "gathering" || seen.you.joined) return "join";
  return seen.phase === "finished" ? "none" : "busy";
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
