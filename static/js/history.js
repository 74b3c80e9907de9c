/**
 * Questions to the server's history: where it stands, and what of a span it lists.
 *
 * `GET /api/notifications` lists what the operator sent to everyone, oldest first. It leaves out what was meant for some
 * devices or for one transport, what belongs to a trial, and what has outlived its own time.
 */

import { parsePosition } from "./position.js";
import { timeoutSignal } from "./timeout.js";

/** @typedef {import("./types.js").HistoryAnswer} HistoryAnswer */
/** @typedef {import("./types.js").Span} Span */
/** @typedef {(url: string, options?: RequestInit) => Promise<Response>} Fetch */

/** A notification has up to some kilobytes, so a long span is asked for in parts. */
export const LIST_LIMIT = 100;

/** Start waits for the position, so a server that is stuck must not hold it for long. */
const ANSWER_TIMEOUT_MS = 2_000;

/**
 * Where the history stands now.
 *
 * @param {Fetch} fetch
 * @returns {Promise<string | null>} null when the server does not tell
 */
export async function askPosition(fetch) {
  const answer = await list(fetch, { after: 0, limit: 1 });
  return answer && answer.position;
}

/**
 * What history lists of a span, and how far back it reaches.
 *
 * It is asked from the offset before the span, which has arrived: where that one is listed, history reaches back, and
 * one question is enough. Else the oldest of all is asked for, and last, so that history has not moved on since.
 *
 * @param {Fetch} fetch
 * @param {Span} span
 * @returns {Promise<HistoryAnswer | null>} null when the server does not tell, or lives another epoch by now
 */
export async function askHistory(fetch, { epoch, first, last }) {
  const answer = await list(fetch, { after: Math.max(0, first - 2), limit: LIST_LIMIT });
  const reachesBack = answer !== null && answer.offsets[0] <= first;
  const start = reachesBack ? answer : await list(fetch, { after: 0, limit: 1 });
  if (answer === null || start === null) return null;
  if (answer.epoch !== epoch || start.epoch !== epoch) return null;
  const { offsets } = answer;
  return {
    epoch,
    oldest: Math.min(...answer.offsets.slice(0, 1), ...start.offsets),
    listed: offsets.filter((offset) => first <= offset && offset <= last),
    through: offsets.length < LIST_LIMIT ? last : Math.min(last, offsets[offsets.length - 1]),
  };
}

/**
 * @param {Fetch} fetch
 * @param {{after: number, limit: number}} wanted
 */
async function list(fetch, { after, limit }) {
  try {
    const response = await fetch(`/api/notifications?after=${after}&limit=${limit}`, {
      cache: "no-store",
      signal: timeoutSignal(ANSWER_TIMEOUT_MS),
    });
    if (!response.ok) return null;
    const { position, notifications } = await response.json();
    const epoch = parsePosition(position)?.epoch;
    /** @type {number[]} */
    const offsets = notifications.map((/** @type {{offset: number}} */ { offset }) => offset);
    return epoch === undefined ? null : { position: String(position), epoch, offsets };
  } catch {
    // No connection, no answer in time, or not one that can be read.
    return null;
  }
}
