/** Notifications as lines of JSON over fetch. It would be static/js/transports/lines.js. */

/** Delay before reconnecting; a real transport uses a random backoff (static/js/backoff.js). */
const RETRY_MS = 1_000;

/**
 * Open the stream after the position; null starts with the next notification.
 *
 * @param {{lastEventId: string | null, topics?: string[]}} wanted
 * @param {import("../../../static/js/types.js").StreamEvents} events
 * @param {{
 *   fetch: (url: string, options?: RequestInit) => Promise<Response>,
 *   nowUs: () => number, timers: import("../../../static/js/types.js").Timers,
 * }} dependencies
 * @returns {import("../../../static/js/types.js").Stream}
 */
export function openLines({ lastEventId, topics = [] }, events, { fetch, nowUs, timers }) {
  const abort = new AbortController();
  let position = lastEventId;
  let isResuming = lastEventId !== null;
  let isClosed = false;
  /** @type {any} */
  let timer;
  connect();

  async function connect() {
    try {
      const response = await fetch(linesUrl(isResuming ? position : null, topics), { signal: abort.signal });
      if (response.ok && response.body) await read(response.body.getReader());
    } catch {
      // The connection broke: missed notifications come with the next one.
    }
    if (isClosed) return;
    events.onDown();
    isResuming = position !== null;
    timer = timers.setTimeout(connect, RETRY_MS);
  }

  /** @param {ReadableStreamDefaultReader<Uint8Array>} reader */
  async function read(reader) {
    const decoder = new TextDecoder();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      const receivedUs = nowUs();
      if (done || isClosed) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) hear(JSON.parse(line), receivedUs);
    }
  }

  /**
   * @param {{event: string, data: any}} line
   * @param {number} receivedUs
   */
  function hear({ event, data }, receivedUs) {
    if (event === "position") {
      events.onOpen({
        transport: /** @type {any} */ ("lines"),
        resumed: isResuming,
        position: data,
        resumes_from: position ?? data,
        opened_client_us: receivedUs,
        carrier: "event-stream",
      });
      position ??= data;
    } else if (event === "notification") {
      position = data.id;
      events.onNotification(data, receivedUs);
    } else if (event === "gap") {
      position = data.id ?? position;
      events.onGap(data);
    }
  }

  return {
    close() {
      isClosed = true;
      timers.clearTimeout(timer);
      abort.abort();
    },
  };
}

/**
 * @param {string | null} lastEventId
 * @param {string[]} topics
 */
function linesUrl(lastEventId, topics) {
  const query = new URLSearchParams();
  if (lastEventId !== null) query.set("last_event_id", lastEventId);
  for (const topic of topics) query.append("topic", topic);
  return query.size > 0 ? `/lines?${query}` : "/lines";
}
