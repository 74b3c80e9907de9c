/**
 * Notifications over Server-Sent Events, by the browser's own EventSource.
 *
 * EventSource reconnects and resumes by itself after a broken connection, also before its first event, since it keeps
 * the id of the stream's first block. It gives up for good when the server answers with an error, as one does that is
 * being restarted; then a new one is opened here, from the last event's id.
 *
 * Where there was no event yet, that id is out of reach: an EventSource shows it with an event only, and heartbeats are
 * no events. So the history is asked where it stands *before* the first try. Asked any later, its answer might lie
 * behind a notification that broke off with the stream. The first try itself names no position: it begins with what
 * comes next, so that nothing of it is a replay.
 */

import { backoffMs } from "../backoff.js";
import { root } from "../root.js";

/** @typedef {import("../types.js").StreamEvents} StreamEvents */
/** @typedef {import("../types.js").Timers} Timers */

/** `EventSource.CLOSED`, which a fake need not have. */
const CLOSED = 2;

/**
 * @typedef {{
 *   EventSource: new (url: string) => EventSource, askPosition: () => Promise<string | null>,
 *   nowUs: () => number, timers: Timers, random: () => number,
 * }} SseDependencies `askPosition` never fails; null: the server does not tell
 */

/**
 * Open the stream behind the position; null starts with what comes next.
 *
 * @param {{lastEventId: string | null, topics?: string[]}} wanted
 * @param {StreamEvents} events
 * @param {SseDependencies} dependencies
 * @returns {import("../types.js").Stream}
 */
export function openSse({ lastEventId, topics = [] }, events, dependencies) {
  const { EventSource, askPosition, nowUs, timers, random } = dependencies;
  let position = lastEventId;
  let isResuming = lastEventId !== null;
  let isClosed = false;
  let failedCount = 0;
  /** @type {any} */
  let timer;
  /** @type {EventSource | null} */
  let source = null;
  connect();

  async function connect() {
    position ??= await askPosition();
    if (isClosed) return;
    const from = isResuming ? position : null;
    source = new EventSource(eventsUrl(from, topics));
    source.addEventListener("open", onOpen);
    source.addEventListener("error", onError);
    source.addEventListener("notification", onNotification);
    source.addEventListener("gap", onGap);
  }

  function onOpen() {
    const openedUs = nowUs();
    events.onOpen({
      transport: "sse",
      resumed: isResuming,
      position: null,
      resumes_from: position,
      opened_client_us: openedUs,
      carrier: "event-stream",
    });
    // From here on the browser reconnects behind what this stream has brought.
    isResuming = true;
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
    if (source?.readyState !== CLOSED) return;
    isResuming = true;
    timer = timers.setTimeout(connect, backoffMs(failedCount, random));
  }

  return {
    close() {
      isClosed = true;
      timers.clearTimeout(timer);
      source?.close();
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
  // Not its `size`, which Safari before 17 and Chrome before 113 lack: neither topic nor position would be asked for.
  const text = query.toString();
  return text === "" ? `${root}/events` : `${root}/events?${text}`;
}
