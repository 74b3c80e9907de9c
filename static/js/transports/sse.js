/**
 * Notifications over Server-Sent Events, by the browser's own EventSource.
 *
 * EventSource reconnects and resumes by itself after a broken connection, also before its first event, since it keeps
 * the id of the stream's first block. It gives up for good when the server answers with an error; then a new one is
 * opened here, from the last event's id.
 */

import { backoffMs } from "../backoff.js";

/** @typedef {import("../types.js").StreamEvents} StreamEvents */
/** @typedef {import("../types.js").Timers} Timers */

/** `EventSource.CLOSED`, which a fake need not have. */
const CLOSED = 2;

/**
 * @typedef {{
 *   EventSource: new (url: string) => EventSource, nowUs: () => number, timers: Timers, random: () => number,
 * }} SseDependencies
 */

/**
 * Open the stream behind the position; null starts with what comes next.
 *
 * @param {{lastEventId: string | null, topics?: string[]}} wanted
 * @param {StreamEvents} events
 * @param {SseDependencies} dependencies
 * @returns {import("../types.js").Stream}
 */
export function openSse({ lastEventId, topics = [] }, events, { EventSource, nowUs, timers, random }) {
  let position = lastEventId;
  let hasOpened = false;
  let failedCount = 0;
  /** @type {any} */
  let timer;
  let source = connect();

  function connect() {
    const opened = new EventSource(eventsUrl(position, topics));
    opened.addEventListener("open", onOpen);
    opened.addEventListener("error", onError);
    opened.addEventListener("notification", onNotification);
    opened.addEventListener("gap", onGap);
    return opened;
  }

  function onOpen() {
    const openedUs = nowUs();
    events.onOpen({
      transport: "sse",
      resumed: hasOpened || lastEventId !== null,
      position: null,
      opened_client_us: openedUs,
      carrier: "event-stream",
    });
    hasOpened = true;
    failedCount = 0;
  }

  /** @param {MessageEvent} event */
  function onNotification(event) {
    const receivedUs = nowUs();
    position = event.lastEventId || position;
    events.onNotification(JSON.parse(event.data), receivedUs);
  }

  /** @param {MessageEvent} event */
  function onGap(event) {
    position = event.lastEventId || position;
    events.onGap(JSON.parse(event.data));
  }

  function onError() {
    failedCount += 1;
    events.onDown();
    if (source.readyState !== CLOSED) return;
    timer = timers.setTimeout(() => (source = connect()), backoffMs(failedCount, random));
  }

  return {
    close() {
      timers.clearTimeout(timer);
      source.close();
    },
  };
}

/**
 * @param {string | null} lastEventId
 * @param {string[]} topics
 */
export function eventsUrl(lastEventId, topics) {
  const query = new URLSearchParams();
  if (lastEventId !== null) query.set("last_event_id", lastEventId);
  for (const topic of topics) query.append("topic", topic);
  return query.size > 0 ? `/events?${query}` : "/events";
}
