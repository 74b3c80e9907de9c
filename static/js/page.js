/**
 * The page: starts and stops the worker, draws what it says, and tells it what was drawn when.
 *
 * For tests and the curious, `siar` in the console is a copy of the state: `siar.worker` (types.js, WorkerState) and
 * `siar.link`, what to add to this page's `performance.now()` to get the worker's (microseconds, with its bound).
 */

import { CHANGE_AFTER_COUNT, CHANGE_AFTER_S } from "./alternation.js";
import { ClockLink } from "./clock_link.js";
import { loadIdentity, saveIdentity } from "./identity.js";
import { StreamLock } from "./lock.js";
import { randomId } from "./random_id.js";
import { makeTranslate } from "./texts.js";
import { View } from "./view.js";

/** @typedef {import("./types.js").Config} Config */
/** @typedef {import("./types.js").ToPage} ToPage */
/** @typedef {import("./types.js").ToWorker} ToWorker */

const LOCK_CHANNEL = "siar.stream";

const nowUs = () => performance.now() * 1000;
const storage = () => localStorage;

/** @type {import("./types.js").Timers} */
const timers = {
  setTimeout: (action, delayMs) => setTimeout(action, delayMs),
  clearTimeout: (timer) => clearTimeout(timer),
};

/** @type {import("./view.js").PageState} */
const state = { worker: null, newest: null, problem: null, isStarting: false };

const config = /** @type {Config} */ (JSON.parse(byId("siar-config").textContent ?? ""));
const lock = new StreamLock(new BroadcastChannel(LOCK_CHANNEL), randomId(crypto), timers);
const link = new ClockLink({ send, nowUs, timers });

/** @type {Worker | null} */
let worker = null;
/** @type {View} */
let view;
let isDrawDue = false;
/** @type {string | null} the newest notification, while it has not been drawn */
let undrawnId = null;

main().catch(() => {
  byId("load-failed").hidden = false;
});

async function main() {
  const response = await fetch(`/static/i18n/${config.language}/phone.json`);
  const t = makeTranslate(await response.json());
  view = new View(document, { t, language: config.language });
  byId("both-hint").textContent = t("choose.both_hint", {
    count: CHANGE_AFTER_COUNT,
    seconds: CHANGE_AFTER_S,
  });
  byId("version").textContent = [
    t("footer.version", { version: config.version }),
    ...(config.run ? [t("footer.run", { run: config.run })] : []),
  ].join(" · ");
  byId("plain-http").hidden = isSecureContext;
  byId("control").addEventListener("submit", onToggle);
  document.addEventListener("visibilitychange", () => send({ kind: "visibility", visible: isVisible() }));
  Object.defineProperty(globalThis, "siar", { get: snapshot });
  drawSoon();
}

/** @param {Event} event */
function onToggle(event) {
  event.preventDefault();
  if (state.isStarting) return;
  const isOff = state.worker === null || state.worker.phase === "stopped";
  if (isOff) start();
  else send({ kind: "stop" });
}

async function start() {
  state.isStarting = true;
  state.problem = null;
  drawSoon();
  if (await lock.claim()) {
    startWorker();
  } else {
    state.isStarting = false;
    state.problem = "second_tab";
  }
  drawSoon();
}

function startWorker() {
  worker ??= makeWorker();
  // Not FormData, which leaves out what is disabled, as the choice is by now.
  const { elements } = /** @type {HTMLFormElement} */ (byId("control"));
  const chosen = /** @type {RadioNodeList} */ (elements.namedItem("choice"));
  send({
    kind: "start",
    choice: /** @type {import("./types.js").Choice} */ (chosen.value),
    config,
    identity: loadIdentity(storage),
    visible: isVisible(),
  });
}

function makeWorker() {
  const made = new Worker("/static/js/worker.js", { type: "module" });
  made.onmessage = (event) => {
    const receivedUs = nowUs();
    onMessage(event.data, receivedUs);
  };
  made.onerror = () => {
    state.problem = "worker";
    state.isStarting = false;
    drawSoon();
  };
  return made;
}

/**
 * @param {ToPage} message
 * @param {number} receivedUs
 */
function onMessage(message, receivedUs) {
  if (message.kind === "pong") link.onPong(message, receivedUs);
  else if (message.kind === "identity") saveIdentity(storage, message.identity);
  else if (message.kind === "state") onState(message.state);
  else onArrival(message);
}

/** @param {import("./types.js").WorkerState} workerState */
function onState(workerState) {
  state.worker = workerState;
  if (workerState.phase !== "stopped") {
    state.isStarting = false;
    link.start();
  } else if (!state.isStarting) {
    // Not while the next session starts: then this is a late word of the last one.
    lock.release();
    link.stop();
  }
  drawSoon();
}

/** @param {Extract<ToPage, {kind: "arrival"}>} arrival */
function onArrival({ notification, transport, reading }) {
  state.newest = { notification, transport, reading };
  undrawnId = notification.id;
  drawSoon();
}

/** Once a frame, however much arrives: of several in one frame only the newest is ever seen. */
function drawSoon() {
  if (isDrawDue) return;
  isDrawDue = true;
  requestAnimationFrame(() => {
    isDrawDue = false;
    view.draw(state);
    if (undrawnId !== null) tellDisplayed(undrawnId);
    undrawnId = null;
  });
}

/** @param {string} id */
function tellDisplayed(id) {
  const { offset_us, page_us } = link.read(nowUs());
  if (offset_us !== null) send({ kind: "displayed", id, displayed_client_us: page_us + offset_us });
}

/** @param {ToWorker} message */
function send(message) {
  worker?.postMessage(message);
}

function snapshot() {
  return structuredClone({ worker: state.worker, problem: state.problem, link: link.read(nowUs()) });
}

function isVisible() {
  return document.visibilityState === "visible";
}

/** @param {string} id */
function byId(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}
