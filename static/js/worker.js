/**
 * The worker: everything that is measured happens here, away from the page's drawing.
 *
 * With the page busy, stamps taken there were 27 ms late where a worker's were not. This file only wires: the world
 * (clock, sockets, timers) goes in here, and nowhere else. Listening (session.js), the room (participation.js) and the
 * transports are loaded when they are first wanted.
 */

import { ClockChannel } from "./clock_channel.js";
import { ClockKeeper } from "./clock_keeper.js";
import { sendBatch } from "./deliveries.js";
import { DeviceClient } from "./device_client.js";
import { Listening } from "./listening.js";
import { Outbox } from "./outbox.js";
import { OutboxStore } from "./outbox_store.js";
import { randomId } from "./random_id.js";
import { ask } from "./root.js";
import { makeOpenStream } from "./streams.js";

/** @typedef {import("./types.js").ToPage} ToPage */
/** @typedef {import("./types.js").ToWorker} ToWorker */

/** Arrivals come one by one, the state at most this often; seldom while a trial is measured. */
const STATE_PERIOD_MS = 200;
const STATE_PERIOD_IN_TRIAL_MS = 1_000;

const worker = /** @type {DedicatedWorkerGlobalScope} */ (/** @type {unknown} */ (self));
const { location } = worker;
const nowUs = () => performance.now() * 1000;
const wallUs = () => Date.now() * 1000;
const random = Math.random;

/** @type {import("./types.js").Timers} */
const timers = {
  setTimeout: (action, delayMs) => setTimeout(action, delayMs),
  clearTimeout: (timer) => clearTimeout(timer),
};

const openStream = makeOpenStream(
  {
    sse: async () => {
      const [{ openSse }, { askPosition }] = await Promise.all([
        import("./transports/sse.js"),
        import("./history.js"),
      ]);
      return (wanted, events) =>
        openSse(wanted, events, { EventSource, askPosition: () => askPosition(ask), nowUs, timers, random });
    },
    socketio: async () => {
      const [{ openSocketIo }, { io }] = await Promise.all([
        import("./transports/socketio.js"),
        import("../vendor/socket.io-client-4.8.4/socket.io.esm.min.js"),
      ]);
      return (wanted, events) =>
        openSocketIo(wanted, events, { io, origin: location.origin, nowUs, timers, random });
    },
  },
  { timers },
);

const listening = new Listening(makeSession);
/** @type {import("./participation.js").Participation | null} */
let participation = null;
/** @type {Promise<void> | undefined} settles when the server has heard of the last leaving: joining comes behind it */
let leaving;
/** @type {(identity: import("./types.js").Identity | null) => void} for whoever waits for the page's word */
let onIdentity = () => {};
/** @type {DeviceClient} */
let device;
/** @type {OutboxStore} */
let store;
/** @type {Outbox} the outbox outlives a session: what waits is still sent after Stop */
let outbox;
/** @type {import("./types.js").Config} */
let config;
let isVisible = true;
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
  else if (message.kind === "displayed") onDisplayed(message);
  else if (message.kind === "lifecycle") onLifecycle(message.event, message.client_us ?? receivedUs);
  else if (message.kind === "start") start(message);
  else if (message.kind === "stop") listening.session?.stop();
  else if (message.kind === "join") orTell(join(message));
  else if (message.kind === "leave") leaving = participation?.leave();
  else if (message.kind === "identity") takeIdentity(message.identity);
  else if (message.kind === "check") participation?.check();
  else if (message.kind === "awake") participation?.setAwake(message.awake);
}

/** @param {{config: import("./types.js").Config, identity: import("./types.js").Identity | null, visible: boolean}} told */
function begin(told) {
  ({ config, visible: isVisible } = told);
  device ??= new DeviceClient({
    fetch: ask,
    language: config.language,
    identity: told.identity,
    // The page registers for both.
    obtain: (stale) => {
      tell({ kind: "register", stale });
      return new Promise((resolve) => (onIdentity = resolve));
    },
  });
  device.take(told.identity);
  outbox ??= makeOutbox();
}

/** @param {import("./types.js").Identity | null} identity */
function takeIdentity(identity) {
  // The page may learn it before it has told this worker anything else.
  device?.take(identity);
  onIdentity(identity);
}

/** @param {Extract<ToWorker, {kind: "start"}>} message */
async function start(message) {
  begin(message);
  await orTell(listening.start(message.choice));
}

/**
 * Code that is loaded only now may not come: thrown anew where nobody waits for it, so that the page hears of it.
 *
 * @param {Promise<void>} action
 */
async function orTell(action) {
  try {
    await action;
  } catch (error) {
    setTimeout(() => {
      throw error;
    });
  }
}

/** @param {import("./types.js").Choice} choice */
async function makeSession(choice) {
  const [{ Session }, { askHistory }, { whyDown }] = await Promise.all([
    import("./session.js"),
    import("./history.js"),
    import("./why_down.js"),
  ]);
  const session = new Session(
    { choice, visible: isVisible },
    {
      openStream: (transport, lastEventId, events) => openStream(transport, { lastEventId }, events),
      makeKeeper,
      outbox,
      tell,
      askHistory: (span) => askHistory(ask, span),
      whyDown: () => whyDown(ask),
      onChange: tellState,
      nowUs,
      timers,
      random,
    },
  );
  tellState();
  // Its cookie tells the server on either transport which device this is.
  await device.register();
  return session;
}

/** @param {Extract<ToWorker, {kind: "join"}>} message */
async function join(message) {
  begin(message);
  const [{ Participation }] = await Promise.all([import("./participation.js"), leaving]);
  if (participation !== null && participation.step !== "out") return;
  participation = new Participation(
    { wish: message.wish, visible: isVisible },
    {
      device,
      outbox,
      log: store,
      keeper: makeKeeper(() => tellState()),
      openStream,
      fetch: ask,
      facts: { ...message.facts, timer_step_us: timerStepUs() },
      onTrials: () => listening.interrupt(),
      onArrival: (arrival) => tell({ kind: "trial_arrival", ...arrival }),
      onChange: tellState,
      nowUs,
      wallUs,
      timers,
      random,
    },
  );
  tellState();
  await participation.join();
}

/**
 * @param {import("./types.js").LifecycleEvent} event
 * @param {number} atUs
 */
function onLifecycle(event, atUs) {
  if (event === "visible" || event === "hidden") isVisible = event === "visible";
  listening.session?.setVisible(isVisible);
  if (event === "resume" || event === "pageshow" || event === "online") listening.session?.wake();
  participation?.noteLifecycle(event, atUs);
}

/** @param {Extract<ToWorker, {kind: "displayed"}>} message */
function onDisplayed({ id, displayed_client_us }) {
  listening.session?.noteDisplayed(id, displayed_client_us);
  participation?.noteDisplayed(id, displayed_client_us);
}

/** @param {(startUs: number) => void} onBurst */
function makeKeeper(onBurst) {
  const { hostname } = location;
  const isSecure = location.protocol === "https:";
  const port = config.clock_port;
  const channel = new ClockChannel({ port, hostname, isSecure, WebSocket, fetch: ask, nowUs, timers });
  return new ClockKeeper(channel, { nowUs, timers, random, onBurst });
}

function makeOutbox() {
  store = new OutboxStore(worker.indexedDB);
  const made = new Outbox({
    send,
    keep: (kept) => store.keep(kept),
    newBatchId: () => randomId(crypto),
    onChange: tellState,
    timers,
    random,
  });
  store.load().then((kept) => made.restore(kept));
  return made;
}

/**
 * A page that is hidden may be frozen before its request is through, so the page's beacon takes the batch along; it
 * counts once, whichever arrives.
 *
 * @param {import("./types.js").Batch} batch
 */
function send(batch) {
  const identity = device.identity;
  if (!isVisible && identity !== null)
    tell({ kind: "beacon", body: JSON.stringify({ device: identity.device, ...batch }) });
  return sendBatch(device, batch);
}

/** @param {ToPage} message */
function tell(message) {
  worker.postMessage(message);
}

function tellState() {
  const periodMs = participation?.isMeasuring ? STATE_PERIOD_IN_TRIAL_MS : STATE_PERIOD_MS;
  stateTimer ??= setTimeout(() => {
    stateTimer = null;
    if (participation) tell({ kind: "room", room: participation.state() });
    if (participation) listening.follow(participation);
    if (listening.session) tell({ kind: "state", state: listening.session.state() });
  }, periodMs);
}

/** The step of this browser's clock: the smallest difference that it shows. */
function timerStepUs() {
  let stepUs = Infinity;
  let lastUs = nowUs();
  for (let count = 0; count < 2_000; count += 1) {
    const atUs = nowUs();
    if (atUs > lastUs) stepUs = Math.min(stepUs, atUs - lastUs);
    lastUs = atUs;
  }
  return Number.isFinite(stepUs) ? Math.round(stepUs * 10) / 10 : 0;
}
