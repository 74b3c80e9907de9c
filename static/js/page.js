/**
 * The page: starts and stops the worker, draws what it says, and tells it what was drawn when.
 *
 * For tests and the curious, `siar` in the console is a copy of the state: `siar.worker` (types.js, WorkerState),
 * `siar.room` (room_types.js, RoomState) and `siar.link`, what to add to this page's `performance.now()` to get the
 * worker's (microseconds, with its bound).
 */

import { CHANGE_AFTER_COUNT, CHANGE_AFTER_S } from "./alternation.js";
import { DeviceClient } from "./device_client.js";
import { copyOf, byId as elementById, sayLoaded } from "./elements.js";
import { loadIdentity, saveIdentity } from "./identity.js";
import { watchLifecycle } from "./lifecycle.js";
import { StreamLock } from "./lock.js";
import { randomId } from "./random_id.js";
import { Received } from "./received.js";
import { RoomPage } from "./room_page.js";
import { ask, root } from "./root.js";
import { makeTranslate } from "./texts.js";
import { View } from "./view.js";

/** @typedef {import("./types.js").Config} Config */
/** @typedef {import("./types.js").ToPage} ToPage */
/** @typedef {import("./types.js").ToWorker} ToWorker */

/** Another service on this host, below another prefix, has streams of its own. */
const LOCK_CHANNEL = `siar.stream${root}`;

const nowUs = () => performance.now() * 1000;
const storage = () => localStorage;

/** @type {import("./types.js").Timers} */
const timers = {
  setTimeout: (action, delayMs) => setTimeout(action, delayMs),
  clearTimeout: (timer) => clearTimeout(timer),
};

/** @type {import("./view.js").PageState} */
const state = { worker: null, received: new Received(), problem: null, isStarting: false };

const config = /** @type {Config} */ (JSON.parse(byId("siar-config").textContent ?? ""));
/** Safari before 15.4 has no channel between tabs: there each takes itself for the only one. */
const tabs = globalThis.BroadcastChannel ? new BroadcastChannel(LOCK_CHANNEL) : { postMessage() {} };
const lock = new StreamLock(tabs, randomId(crypto), timers);

/** @type {Worker | null} */
let worker = null;
/** @type {import("./clock_link.js").ClockLink | null} loaded with the worker, which is not needed before */
let link = null;
/** @type {import("./notices.js").Notices | null} loaded when it is first wanted */
let notices = null;
/** @type {View} */
let view;
/** @type {RoomPage} */
let room;
let isDrawDue = false;
/** @type {string | null} what came last, while it has not been drawn */
let undrawnId = null;

/** Who this device is, for the worker too: of two that register each would be another. */
const device = new DeviceClient({
  fetch: ask,
  language: config.language,
  identity: loadIdentity(storage),
  onIdentity: (identity) => {
    saveIdentity(storage, identity);
    send({ kind: "identity", identity });
  },
});

main().then(sayLoaded);

async function main() {
  const [phone, roomTexts] = await Promise.all([loadTexts("phone"), loadTexts("room")]);
  const t = makeTranslate({ ...phone, ...roomTexts });
  view = new View(document, { t, language: config.language });
  room = new RoomPage({
    document,
    speech: { t, language: config.language },
    config,
    device,
    send,
    claim,
    timers,
    drawSoon,
    breakOff,
  });
  byId("both-hint").textContent = t("choose.both_hint", {
    count: CHANGE_AFTER_COUNT,
    seconds: CHANGE_AFTER_S,
  });
  byId("version").textContent = [
    t("footer.version", { version: config.version }),
    ...(config.run ? [t("footer.run", { run: config.run })] : []),
  ].join(" · ");
  byId("plain-http").hidden = isSecureContext;
  byId("notify").addEventListener("click", async () => {
    try {
      await (await loadNotices()).turnOn({ id: "first", title: "Siar", body: t("notices.first") });
    } catch {
      drawNotices("failed");
    }
  });
  offerNotices();
  byId("control").addEventListener("submit", onToggle);
  watchLifecycle({ document, window }, onLifecycle);
  Object.defineProperty(globalThis, "siar", { get: snapshot });
  room.start();
  drawSoon();
}

/** @param {string} part */
async function loadTexts(part) {
  const response = await ask(`/static/i18n/${config.language}/${part}.json`);
  return response.json();
}

/** @param {Event} event */
function onToggle(event) {
  event.preventDefault();
  if (state.isStarting) return;
  const isOff = state.worker === null || state.worker.phase === "stopped";
  if (isOff) start().catch(breakOff);
  else send({ kind: "stop" });
}

async function start() {
  state.isStarting = true;
  state.problem = null;
  drawSoon();
  if (await claim()) {
    // Not FormData, which leaves out what is disabled, as the choice is by now.
    const { elements } = /** @type {HTMLFormElement} */ (byId("control"));
    const chosen = /** @type {RadioNodeList} */ (elements.namedItem("choice"));
    send({
      kind: "start",
      choice: /** @type {import("./types.js").Choice} */ (chosen.value),
      config,
      identity: device.identity,
      visible: isVisible(),
    });
  } else {
    state.isStarting = false;
    state.problem = "second_tab";
  }
  drawSoon();
}

/**
 * The device's one stream, and the worker that holds it.
 *
 * @returns {Promise<boolean>} false where another tab has it
 */
async function claim() {
  if (!lock.isHeld && !(await lock.claim())) return false;
  worker ??= makeWorker();
  const { ClockLink } = await import("./clock_link.js");
  link ??= new ClockLink({ send, nowUs, timers });
  return true;
}

function makeWorker() {
  const made = new Worker(`${root}/static/js/worker.js`, { type: "module" });
  made.onmessage = (event) => {
    const receivedUs = nowUs();
    onMessage(event.data, receivedUs);
  };
  made.onerror = breakOff;
  return made;
}

/** What is loaded only at Start did not come, or the worker failed: it says so, instead of starting for ever. */
function breakOff() {
  state.problem = "worker";
  state.isStarting = false;
  room.breakOff();
  holdWhileNeeded();
}

/**
 * @param {ToPage} message
 * @param {number} receivedUs
 */
function onMessage(message, receivedUs) {
  if (message.kind === "pong") link?.onPong(message, receivedUs);
  else if (message.kind === "register") onRegister(message);
  else if (message.kind === "beacon") navigator.sendBeacon(`${root}/api/deliveries`, asJson(message.body));
  else if (message.kind === "state") onState(message.state);
  else if (message.kind === "room") onRoom(message.room);
  else if (message.kind === "trial_arrival") onTrialArrival(message);
  else onArrival(message);
}

/** @param {Extract<ToPage, {kind: "register"}>} message */
async function onRegister({ stale }) {
  send({ kind: "identity", identity: await device.renew(stale) });
}

/** @param {import("./types.js").WorkerState} workerState */
function onState(workerState) {
  state.worker = workerState;
  // While it starts, "stopped" is a late word of the session before.
  if (workerState.phase !== "stopped") state.isStarting = false;
  holdWhileNeeded();
}

/** @param {import("./types.js").RoomState} roomState */
function onRoom(roomState) {
  room.onRoom(roomState);
  holdWhileNeeded();
}

/** The stream is given up when neither listening nor the room needs it. */
function holdWhileNeeded() {
  const isListening = state.worker !== null && state.worker.phase !== "stopped";
  if (isListening || room.isIn) {
    link?.start();
  } else if (!state.isStarting && !room.isJoining) {
    lock.release();
    link?.stop();
  }
  drawSoon();
}

/** @param {Extract<ToPage, {kind: "arrival"}>} arrival */
function onArrival({ notification, transport, reading }) {
  state.received.add({ notification, transport, reading });
  notices?.show(notification);
  undrawnId = notification.id;
  drawSoon();
}

/** @param {Extract<ToPage, {kind: "trial_arrival"}>} arrival */
function onTrialArrival({ id, count }) {
  room.onCount(count);
  undrawnId = id;
  drawSoon();
}

/** Once a frame, however much arrives: of several in one frame only the newest is ever seen. */
function drawSoon() {
  if (isDrawDue) return;
  isDrawDue = true;
  requestAnimationFrame(() => {
    isDrawDue = false;
    room.draw();
    // In a round a phone draws its number and nothing else.
    if (!room.isMeasuring) view.draw(state, { isAlone: !room.isIn, isInvited: room.isInvited });
    if (undrawnId !== null) tellDisplayed(undrawnId);
    undrawnId = null;
  });
}

/** @param {string} id */
function tellDisplayed(id) {
  const displayedUs = toWorkerUs(nowUs());
  if (displayedUs !== null) send({ kind: "displayed", id, displayed_client_us: displayedUs });
}

/** @param {import("./types.js").LifecycleEvent} event */
function onLifecycle(event) {
  send({ kind: "lifecycle", event, client_us: toWorkerUs(nowUs()) });
  room.onLifecycle(event);
  if (event === "freeze" || event === "pagehide") lock.sleep();
  if (event === "resume" || event === "pageshow") onWake();
}

/** Where another tab has the stream by now, this one ends; it does not leave, since the seat is that tab's as well. */
async function onWake() {
  if (await lock.wake()) return;
  worker?.terminate();
  link?.stop();
  worker = link = state.worker = null;
  state.isStarting = false;
  if (!room.giveWay()) state.problem = "second_tab";
  drawSoon();
}

/**
 * @param {number} pageUs
 * @returns {number | null} the worker's time; null while the two are not linked
 */
function toWorkerUs(pageUs) {
  const offset_us = link?.read(pageUs).offset_us ?? null;
  return offset_us === null ? null : pageUs + offset_us;
}

/** Plain http has no notifications of the system, nor has iOS outside the home screen. */
async function offerNotices() {
  const permission = isSecureContext && globalThis.Notification?.permission;
  drawNotices(permission === "default" ? "offered" : "none");
  if (permission !== "granted") return;
  try {
    (await loadNotices()).resume();
  } catch {
    drawNotices("failed");
  }
}

async function loadNotices() {
  const { Notices } = await import("./notices.js");
  return (notices ??= new Notices(globalThis, drawNotices));
}

/** @param {import("./notices.js").NoticesState} noticesState */
function drawNotices(noticesState) {
  byId("notify").dataset.state = noticesState;
  byId("notify").hidden = noticesState !== "offered";
  byId("notify-failed").hidden = noticesState !== "failed";
}

/** @param {ToWorker} message */
function send(message) {
  worker?.postMessage(message);
}

function snapshot() {
  return copyOf({
    worker: state.worker,
    room: room.state,
    problem: state.problem ?? room.problem,
    link: link?.read(nowUs()) ?? null,
  });
}

/** @param {string} text */
function asJson(text) {
  return new Blob([text], { type: "application/json" });
}

function isVisible() {
  return document.visibilityState === "visible";
}

/** @param {string} id */
function byId(id) {
  return elementById(document, id);
}
