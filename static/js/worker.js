/**
 * The worker: everything that is measured happens here, away from the page's drawing.
 *
 * With the page busy, stamps taken there were 27 ms late where a worker's were not. This file only wires: the world
 * (clock, sockets, timers) goes in here, and nowhere else.
 */

import { io } from "../vendor/socket.io-client-4.8.4/socket.io.esm.min.js";
import { ClockChannel } from "./clock_channel.js";
import { ClockKeeper } from "./clock_keeper.js";
import { DeliveriesClient } from "./deliveries.js";
import { askHistory, askPosition } from "./history.js";
import { Outbox } from "./outbox.js";
import { randomId } from "./random_id.js";
import { Session } from "./session.js";
import { openSocketIo } from "./transports/socketio.js";
import { openSse } from "./transports/sse.js";

/** @typedef {import("./types.js").ToPage} ToPage */
/** @typedef {import("./types.js").ToWorker} ToWorker */

/** Arrivals come one by one, the state at most this often. */
const STATE_PERIOD_MS = 200;

const worker = /** @type {DedicatedWorkerGlobalScope} */ (/** @type {unknown} */ (self));
const { location } = worker;
const nowUs = () => performance.now() * 1000;
const random = Math.random;
/** @type {import("./history.js").Fetch} `fetch` itself refuses to be called as a member of something else */
const ask = (url, options) => fetch(url, options);

/** @type {import("./types.js").Timers} */
const timers = {
  setTimeout: (action, delayMs) => setTimeout(action, delayMs),
  clearTimeout: (timer) => clearTimeout(timer),
};

/** @type {Session | null} */
let session = null;
/** @type {DeliveriesClient | null} */
let client = null;
/** @type {Outbox | null} the outbox outlives a session: what waits is still sent after Stop */
let outbox = null;
/** @type {any} */
let stateTimer = null;

worker.onmessage = (event) => {
  // First of all, since a ping's stamp is only as good as it is early.
  const receivedUs = nowUs();
  onMessage(event.data, receivedUs);
};

/**
 * @param {ToWorker} message
 * @param {number} receivedUs
 */
function onMessage(message, receivedUs) {
  if (message.kind === "ping")
    tell({ kind: "pong", t1_us: message.t1_us, t2_us: receivedUs, t3_us: nowUs() });
  else if (message.kind === "start") start(message);
  else if (message.kind === "stop") session?.stop();
  else if (message.kind === "visibility") session?.setVisible(message.visible);
  else if (message.kind === "displayed") session?.noteDisplayed(message.id, message.displayed_client_us);
}

/** @param {Extract<ToWorker, {kind: "start"}>} message */
async function start({ choice, config, identity, visible }) {
  client ??= makeClient(identity);
  outbox ??= makeOutbox(client);
  const begun = new Session(
    { choice, visible },
    {
      openStream,
      makeKeeper: (onBurst) => makeKeeper(config.clock_port, onBurst),
      outbox,
      tell,
      askHistory: (span) => askHistory(ask, span),
      onChange: tellState,
      nowUs,
      timers,
      random,
    },
  );
  session = begun;
  tellState();
  // Its cookie tells the server on either transport which device this is.
  await client.register();
  begun.start();
}

/** @type {import("./session.js").SessionDependencies["openStream"]} */
function openStream(transport, lastEventId, events) {
  return transport === "sse"
    ? openSse({ lastEventId }, events, {
        EventSource,
        askPosition: () => askPosition(ask),
        nowUs,
        timers,
        random,
      })
    : openSocketIo({ lastEventId }, events, { io, origin: location.origin, nowUs, timers, random });
}

/**
 * @param {number | null} port
 * @param {(startUs: number) => void} onBurst
 */
function makeKeeper(port, onBurst) {
  const { hostname } = location;
  const channel = new ClockChannel({
    port,
    hostname,
    WebSocket,
    fetch: ask,
    nowUs,
    timers,
  });
  return new ClockKeeper(channel, { nowUs, timers, random, onBurst });
}

/** @param {import("./types.js").Identity | null} identity */
function makeClient(identity) {
  return new DeliveriesClient({
    fetch: ask,
    identity,
    onIdentity: (registered) => tell({ kind: "identity", identity: registered }),
  });
}

/** @param {DeliveriesClient} deliveries */
function makeOutbox(deliveries) {
  const send = (/** @type {import("./types.js").Batch} */ batch) => deliveries.send(batch);
  return new Outbox({ send, newBatchId: () => randomId(crypto), onChange: tellState, timers, random });
}

/** @param {ToPage} message */
function tell(message) {
  worker.postMessage(message);
}

function tellState() {
  stateTimer ??= setTimeout(() => {
    stateTimer = null;
    if (session) tell({ kind: "state", state: session.state() });
  }, STATE_PERIOD_MS);
}
