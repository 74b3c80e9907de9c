/** "Both, one after the other": when to change the transport. */

/** @typedef {import("./types.js").Choice} Choice */
/** @typedef {import("./types.js").Transport} Transport */

/** Few enough that a person sees the change, enough for a first median. */
export const CHANGE_AFTER_COUNT = 10;

/** Where nothing is sent, the change comes all the same. */
export const CHANGE_AFTER_S = 60;

/**
 * The transport to begin with.
 *
 * @param {Choice} choice
 * @returns {Transport}
 */
export function firstTransport(choice) {
  return choice === "socketio" ? "socketio" : "sse";
}

/**
 * @param {Transport} transport
 * @returns {Transport}
 */
export function otherTransport(transport) {
  return transport === "sse" ? "socketio" : "sse";
}
