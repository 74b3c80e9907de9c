/**
 * Notifications over Socket.IO, by its official client.
 *
 * The client reconnects by itself unless the server ended the connection; resuming is ours: the last id goes along in
 * `auth`. Where the history stood is in the payload of the CONNECT packet, which the client does not hand on, so it is
 * read from the packet itself.
 */

import { backoffMs } from "../backoff.js";
import { root } from "../root.js";

/** @typedef {import("../types.js").SocketIoSocket} SocketIoSocket */
/** @typedef {import("../types.js").StreamEvents} StreamEvents */
/** @typedef {import("../types.js").Timers} Timers */

/** Type of a CONNECT packet, Socket.IO protocol 5. */
const CONNECT = 0;

/**
 * @typedef {{
 *   io: (url: string, options: object) => SocketIoSocket, origin: string,
 *   nowUs: () => number, timers: Timers, random: () => number,
 * }} SocketIoDependencies
 */

/**
 * Open the stream behind the position; null starts with what comes next.
 *
 * @param {{lastEventId: string | null, topics?: string[], transports?: string[]}} wanted
 * @param {StreamEvents} events
 * @param {SocketIoDependencies} dependencies
 * @returns {import("../types.js").Stream}
 */
export function openSocketIo(wanted, events, { io, origin, nowUs, timers, random }) {
  const { lastEventId, topics = [], transports = ["websocket"] } = wanted;
  let position = lastEventId;
  /** @type {string | null} */
  let stoodAt = null;
  let failedCount = 0;
  let isClosed = false;
  /** @type {any} */
  let timer;

  const socket = io(origin, {
    autoConnect: false,
    forceNew: true,
    path: `${root}/socket.io/`,
    transports,
    // Asked again at each reconnect, so that it resumes from where it is by then.
    auth: (/** @type {(payload: object) => void} */ send) => send(authPayload(position, topics)),
  });
  socket.io.on("packet", onPacket);
  socket.on("connect", onConnect);
  socket.on("notification", onNotification);
  socket.on("gap", onGap);
  socket.on("disconnect", onDown);
  socket.on("connect_error", onDown);
  socket.connect();

  /** @param {{type: number, data?: {position?: string}}} packet */
  function onPacket(packet) {
    if (packet.type === CONNECT) stoodAt = packet.data?.position ?? null;
  }

  function onConnect() {
    const openedUs = nowUs();
    const carrier = socket.io.engine?.transport?.name === "polling" ? "polling" : "websocket";
    const resumed = position !== null;
    failedCount = 0;
    // Until the first notification this is where a reconnect resumes.
    position ??= stoodAt;
    events.onOpen({
      transport: "socketio",
      resumed,
      position: stoodAt,
      resumes_from: position,
      opened_client_us: openedUs,
      carrier,
    });
  }

  /** @param {import("../types.js").Notification} notification */
  function onNotification(notification) {
    const receivedUs = nowUs();
    position = notification.id;
    events.onNotification(notification, receivedUs);
  }

  /** @param {import("../types.js").Gap} gap */
  function onGap(gap) {
    position = gap.id ?? position;
    events.onGap(gap);
  }

  function onDown() {
    // `disconnect()` reports itself.
    if (isClosed) return;
    failedCount += 1;
    events.onDown();
    // `active`: the client tries again by itself.
    if (!socket.active) timer = timers.setTimeout(() => socket.connect(), backoffMs(failedCount, random));
  }

  return {
    close() {
      isClosed = true;
      timers.clearTimeout(timer);
      socket.disconnect();
    },
  };
}

/**
 * @param {string | null} lastEventId
 * @param {string[]} topics
 */
function authPayload(lastEventId, topics) {
  return {
    ...(lastEventId === null ? {} : { last_event_id: lastEventId }),
    ...(topics.length === 0 ? {} : { topics }),
  };
}
