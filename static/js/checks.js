/** What a phone tries before it says that it is ready: both transports, to their first byte. */

import { isFull, whyDown } from "./why_down.js";

/** @typedef {import("./room_types.js").CheckReason} CheckReason */
/** @typedef {import("./types.js").Timers} Timers */

/** @typedef {{state: "ok" | "failed", reason: CheckReason | null}} CheckResult */

/** Nothing is published on it: a check listens to a stream, and hears only its beginning. */
const TOPIC = "siar.check";

/** A stream's first bytes come with its headers; what is later than this was held back on the way. */
export const FIRST_BYTE_MS = 1_500;

export const OPEN_MS = 5_000;

/**
 * Read the first bytes of an event stream. An EventSource would call itself open at the headers, which a proxy that
 * buffers passes on at once.
 *
 * @param {{fetch: (url: string, options?: RequestInit) => Promise<Response>, timers: Timers}} dependencies
 * @returns {Promise<CheckResult>}
 */
export async function checkSse({ fetch, timers }) {
  const abort = new AbortController();
  let hasHeaders = false;
  let timer = timers.setTimeout(() => abort.abort(), OPEN_MS);
  try {
    const response = await fetch(`/events?topic=${TOPIC}`, { cache: "no-store", signal: abort.signal });
    hasHeaders = response.ok;
    if (isFull(response)) return { state: "failed", reason: "full" };
    timers.clearTimeout(timer);
    timer = timers.setTimeout(() => abort.abort(), FIRST_BYTE_MS);
    const first = await response.body?.getReader().read();
    return first?.value && response.ok
      ? { state: "ok", reason: null }
      : { state: "failed", reason: "unreachable" };
  } catch {
    return { state: "failed", reason: hasHeaders ? "buffered" : "unreachable" };
  } finally {
    timers.clearTimeout(timer);
    abort.abort();
  }
}

/**
 * Open a Socket.IO connection and close it again.
 *
 * @param {{
 *   fetch: (url: string, options?: RequestInit) => Promise<Response>,
 *   openStream: import("./types.js").OpenStream, timers: Timers,
 * }} dependencies
 * @returns {Promise<CheckResult>}
 */
export function checkSocketIo({ fetch, openStream, timers }) {
  return new Promise((resolve) => {
    const settle = (/** @type {CheckResult} */ result) => {
      timers.clearTimeout(timer);
      stream.close();
      resolve(result);
    };
    const fail = async () => {
      const reason = (await whyDown(fetch)) === "server_full" ? "full" : "unreachable";
      settle({ state: "failed", reason });
    };
    const timer = timers.setTimeout(fail, OPEN_MS);
    const stream = openStream(
      "socketio",
      { lastEventId: null, topics: [TOPIC] },
      {
        onOpen: () => settle({ state: "ok", reason: null }),
        onNotification: () => {},
        onGap: () => {},
        onDown: () => {},
      },
    );
  });
}
