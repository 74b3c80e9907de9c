/**
 * The operator's page: signs in, asks how things stand, draws it, and does what the operator says.
 *
 * For tests and the curious, `siarAdmin` in the console is a copy of the state.
 */

import { byId, copyOf, sayLoaded } from "../elements.js";
import { ask } from "../root.js";
import { nextAskMs } from "../screen/pace.js";
import { Poller } from "../screen/poller.js";
import { ServerClock } from "../screen/server_clock.js";
import { makeTranslate } from "../texts.js";
import { Api } from "./api.js";
import { Desk } from "./desk.js";
import { ask as askQuestion } from "./question.js";
import { AdminView } from "./view.js";

const DRAW_EVERY_MS = 1_000;

const DEVICES_EVERY_MS = 3_000;

const RUNS_EVERY_MS = 10_000;

const SELF_TESTS_EVERY_MS = 10_000;

const nowUs = () => performance.now() * 1000;

/** @type {import("../types.js").Timers} */
const timers = {
  setTimeout: (action, delayMs) => setTimeout(action, delayMs),
  clearTimeout: (timer) => clearTimeout(timer),
};

const config = JSON.parse(byId(document, "siar-config").textContent ?? "");

main().then(sayLoaded);

async function main() {
  const [selfTestTexts, ...texts] = await Promise.all(["selftest", "experiment", "admin"].map(loadTexts));
  const { language } = config;
  const speech = { t: makeTranslate(Object.assign({}, ...texts)), language };
  const selfTest = { t: makeTranslate(selfTestTexts), language };
  const clock = new ServerClock(nowUs);
  /** @type {AdminView} */
  let view;
  const desk = new Desk({
    api: new Api(ask, config.language),
    speech,
    clock,
    timers,
    nowUs,
    question: (text, yes) => askQuestion(document, text, yes),
    isHidden: () => document.hidden,
    onChange: () => view?.draw(desk.state),
  });
  view = new AdminView({ speech, selfTest }, desk, clock);
  const pollers = [
    {
      ask: () => desk.readRoom(),
      waitMs: () => (desk.state.room ? nextAskMs(desk.state.room, clock.nowUs()) : 1000),
    },
    { ask: () => desk.readDevices(), waitMs: () => DEVICES_EVERY_MS },
    { ask: () => desk.readRuns(), waitMs: () => RUNS_EVERY_MS },
    { ask: () => desk.readSelfTests(), waitMs: () => SELF_TESTS_EVERY_MS },
  ].map((how) => new Poller({ ...how, timers, random: Math.random }));
  desk.onSession = (isIn) => pollers.forEach((poller) => (isIn ? poller.start() : poller.stop()));
  const askNow = () => pollers.forEach((poller) => poller.askNow());
  desk.onActed = askNow;
  Object.defineProperty(globalThis, "siarAdmin", { get: () => copyOf(desk.state) });
  document.addEventListener("visibilitychange", askNow);
  await desk.arrive(takeKey(), config.signed_in);
  setInterval(() => view.draw(desk.state), DRAW_EVERY_MS);
}

/** The one-time key of the address, which it is taken out of at once: nobody else shall see or bookmark it. */
function takeKey() {
  const address = new URL(location.href);
  const key = address.searchParams.get("key");
  if (key !== null) {
    address.searchParams.delete("key");
    history.replaceState(null, "", address);
  }
  return key;
}

/** @param {string} part */
async function loadTexts(part) {
  return (await ask(`/static/i18n/${config.language}/${part}.json`)).json();
}
