/**
 * The self-test's page: walks through the phone protocol, looks by itself where it can, and records the answers.
 *
 * For tests and the curious, `siarSelfTest` in the console is the record as it is posted.
 */

import { ClockChannel } from "../clock_channel.js";
import { ClockKeeper } from "../clock_keeper.js";
import { DeviceClient } from "../device_client.js";
import { readFacts } from "../device_facts.js";
import { byId, copyOf, sayLoaded } from "../elements.js";
import { Forgetting } from "../forgetting.js";
import { askPosition } from "../history.js";
import { loadIdentity, saveIdentity } from "../identity.js";
import { watchLifecycle } from "../lifecycle.js";
import { ask } from "../root.js";
import { makeOpenStream } from "../streams.js";
import { makeTranslate } from "../texts.js";
import { openSocketIo } from "../transports/socketio.js";
import { openSse } from "../transports/sse.js";
import { io } from "../../vendor/socket.io-client-4.8.4/socket.io.esm.min.js";
import { JUDGES } from "./judges.js";
import { Line } from "./line.js";
import { makeLooks } from "./looks.js";
import { Record } from "./record.js";
import { Protocol, STEPS } from "./steps.js";
import { View } from "./view.js";

/** @typedef {import("./judges.js").Happening} Happening */
/** @typedef {import("./steps.js").Answer} Answer */

/** How often a judge is asked. */
const LOOK_MS = 250;

/** A step of an hour has no more than this; the beginning counts. */
const HAPPENINGS_MAX = 500;

/** Until the page has been laid out anew. */
const TURN_MS = 400;

const nowUs = () => performance.now() * 1000;
const storage = () => localStorage;
/** @type {import("../types.js").Timers} */
const timers = {
  setTimeout: (action, delayMs) => setTimeout(action, delayMs),
  clearTimeout: (timer) => clearTimeout(timer),
};

const config = /** @type {import("../types.js").Config} */ (
  JSON.parse(byId(document, "siar-config").textContent ?? "")
);

const openStream = makeOpenStream(
  {
    sse: async () => {
      const world = { EventSource, askPosition: () => askPosition(ask), nowUs, timers, random: Math.random };
      return (wanted, events) => openSse(wanted, events, world);
    },
    socketio: async () => {
      const world = { io, origin: location.origin, nowUs, timers, random: Math.random };
      return (wanted, events) => openSocketIo(wanted, events, world);
    },
  },
  { timers },
);

const channel = new ClockChannel({
  port: config.clock_port,
  hostname: location.hostname,
  isSecure: location.protocol === "https:",
  WebSocket,
  fetch: ask,
  nowUs,
  timers,
});
const keeper = new ClockKeeper(channel, { nowUs, timers, random: Math.random, onBurst: () => {} });
const line = new Line({ openStream, tell, nowUs, delayMs });
const looks = makeLooks({ fetch: ask, openStream, navigator, keeper, timers, nowUs });
const device = new DeviceClient({
  fetch: ask,
  identity: loadIdentity(storage),
  onIdentity: (identity) => saveIdentity(storage, identity),
});
const protocol = new Protocol(onChange);
const record = new Record({ storage, timers, post, onSaving: (saving) => view?.drawSaving(saving) });
const forgetting = new Forgetting({ request: askToForget, onGone: beginAnew, onChange: onForgetting });

/** @type {View | undefined} */
let view;
/** @type {Happening[]} since the guided step began */
let happenings = [];
/** @type {string | null} the step that is being looked at */
let running = null;

main().then(sayLoaded);

async function main() {
  const texts = await (await ask(`/static/i18n/${config.language}/selftest.json`)).json();
  view = new View(document, { t: makeTranslate(texts), language: config.language, onAct: act });
  const kept = record.load();
  protocol.restore(kept.steps);
  remarksField().value = kept.remarks;
  remarksField().addEventListener("input", keep);
  byId(document, "forget").addEventListener("click", () => forgetting.press());
  watchLifecycle({ document, window }, (kind) => {
    if (kind === "resume" || kind === "pagehide" || kind === "pageshow") return;
    if (kind === "visible") keeper.wake();
    tell({ kind, at_us: nowUs() });
  });
  matchMedia("(orientation: portrait)").addEventListener("change", () => timers.setTimeout(turned, TURN_MS));
  if (kept.reloading && protocol.answerTo("reload").state === "waiting") protocol.set("reload", reloaded());
  else view.draw(protocol);
  Object.defineProperty(globalThis, "siarSelfTest", { get: () => copyOf(protocol.record()) });
  line.start();
  keeper.start();
}

/**
 * @param {string} step
 * @param {import("./view.js").Act} wanted
 */
function act(step, wanted) {
  if (running !== null && running !== step) protocol.set(running, { state: "waiting" });
  running = null;
  if (wanted === "again") protocol.set(step, { state: "waiting" });
  else if (wanted === "start") begin(step);
  else answer(step, { state: wanted === "yes" ? "passed" : wanted === "no" ? "failed" : "skipped" });
  view?.focus(wanted === "start" || wanted === "again" ? step : protocol.current);
}

/**
 * Answer a step, and go on by ourselves where nobody is needed.
 *
 * @param {string} step
 * @param {Answer} found
 */
function answer(step, found) {
  running = null;
  protocol.set(step, found);
  const next = protocol.current;
  if (kindOf(step) === "auto" && next !== null && kindOf(next) === "auto") begin(next);
}

/** @param {string} step */
async function begin(step) {
  running = step;
  protocol.set(step, { state: "running" });
  if (kindOf(step) === "auto") {
    const found = await looks[step]();
    if (running === step) answer(step, found);
  } else {
    happenings = [];
    if (step === "reload") keep();
    else judge(step);
  }
}

/** Ask the judge of a guided step until it has something to say, or somebody has answered. @param {string} step */
function judge(step) {
  if (running !== step) return;
  const found = JUDGES[step]({ happenings, isUp: line.isUp, now_us: nowUs() });
  if (found === null) timers.setTimeout(() => judge(step), LOOK_MS);
  else answer(step, found);
}

/** @param {Happening} happening */
function tell(happening) {
  if (happenings.length < HAPPENINGS_MAX) happenings.push(happening);
}

function turned() {
  const { scrollWidth, clientWidth } = document.documentElement;
  tell({ kind: "turned", at_us: nowUs(), too_wide_px: Math.max(0, scrollWidth - clientWidth) });
}

/** @returns {Answer} */
function reloaded() {
  if (device.identity === null) return { state: "failed", reason: "stranger" };
  return { state: "passed" };
}

/**
 * @param {number} dueUs server time
 * @param {number} receivedUs client time
 */
function delayMs(dueUs, receivedUs) {
  const { state, offset_us } = keeper.read(receivedUs, { live: true });
  return state === "ok" && offset_us !== null
    ? Math.round((receivedUs + offset_us - dueUs) / 100) / 10
    : null;
}

/** @param {string} wanted */
function kindOf(wanted) {
  return STEPS.find(([step]) => step === wanted)?.[1];
}

function onChange() {
  view?.draw(protocol);
  keep();
}

/** In this device's name and without a room: who only tests, or comes back when the room is put away, has none. */
async function askToForget() {
  if (running !== null) protocol.set(running, { state: "waiting" });
  running = null;
  // What is under way would be recorded anew behind the deletion.
  await record.rest();
  return device.request("DELETE", "/api/deliveries");
}

/** What the server has deleted goes from this browser too, or the next answer would bring it back. */
function beginAnew() {
  running = null;
  remarksField().value = "";
  protocol.clear();
  record.keep({ steps: [], remarks: "" });
  view?.drawSaving("idle");
}

function onForgetting() {
  const { state } = forgetting;
  view?.drawForgetting(state);
  // Refused, so what waited goes on its way.
  if (state === "later" || state === "failed") keep();
}

function keep() {
  // While it is being deleted nothing is recorded.
  if (forgetting.state === "doing") return;
  const kept = { steps: protocol.record(), remarks: remarksField().value };
  record.keep(kept, { reloading: running === "reload" });
}

/** @param {import("./record.js").Kept} kept */
async function post({ steps, remarks }) {
  const facts = await readFacts(navigator);
  const body = { language: config.language, facts, steps, remarks };
  return (await device.request("POST", "/api/selftest", body)).status;
}

function remarksField() {
  return /** @type {HTMLTextAreaElement} */ (byId(document, "remarks"));
}
