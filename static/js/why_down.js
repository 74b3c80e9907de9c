/**
 * Why no stream comes about, asked by a plain request: of a stream that was refused browsers tell a page nothing, whether
 * the server was away or answered 503.
 */

import { timeoutSignal } from "./timeout.js";

/** A server that is stuck is away. */
const ANSWER_TIMEOUT_MS = 2_000;

/**
 * Whether the service itself answers that it takes no more connections; a proxy whose server is down says 503 otherwise.
 *
 * @param {Response} response
 */
export function isFull({ status, headers }) {
  return status === 503 && typeOf(headers) === "application/problem+json";
}

/**
 * What a stream would be answered now, without taking a place.
 *
 * @param {(url: string, options?: RequestInit) => Promise<Response>} fetch
 * @returns {Promise<"server_away" | "server_full" | "stream_blocked">} `stream_blocked`: it would be served, so something
 *   on the way holds it up
 */
export async function whyDown(fetch) {
  try {
    const signal = timeoutSignal(ANSWER_TIMEOUT_MS);
    const response = await fetch("/events", { method: "HEAD", cache: "no-store", signal });
    if (response.ok && typeOf(response.headers) === "text/event-stream") return "stream_blocked";
    return isFull(response) ? "server_full" : "server_away";
  } catch {
    return "server_away";
  }
}

/** @param {Headers} headers */
function typeOf(headers) {
  return headers.get("Content-Type")?.split(";")[0];
}
