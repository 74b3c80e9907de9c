/**
 * The big screen: asks how the room stands and draws it. It only reads, and in a trial it asks nothing at all.
 *
 * For tests and the curious, `siarScreen` in the console is a copy of the state.
 */

import { byId, copyOf, sayLoaded } from "../elements.js";
import { ask as askService } from "../root.js";
import { makeTranslate } from "../texts.js";
import { timeoutSignal } from "../timeout.js";
import { WakeLock } from "../wake_lock.js";
import { nextAskMs } from "./pace.js";
import { Poller } from "./poller.js";
import { ServerClock } from "./server_clock.js";
import { ScreenView } from "./view.js";

/** Twice as often as the eye needs for a countdown; the page changes only where a text does. */
const DRAW_EVERY_MS = 200;

const ANSWER_TIMEOUT_MS = 10_000;

const nowUs = () => performance.now() * 1000;

/** @type {import("../types.js").Timers} */
const timers = {
  setTimeout: (action, delayMs) => setTimeout(action, delayMs),
  clearTimeout: (timer) => clearTimeout(timer),
};

/** @type {import("./view.js").PageState} */
const state = { room: null, heard_us: 0, problem: null, detail: "" };

const config = JSON.parse(byId(document, "siar-config").textContent ?? "");
const key = new URLSearchParams(location.search).get("key") ?? "";
const clock = new ServerClock(nowUs);
const poller = new Poller({
  ask,
  waitMs: () => (state.room === null ? 1000 : nextAskMs(state.room, clock.nowUs())),
  timers,
  random: Math.random,
});

main().then(sayLoaded);

async function main() {
  const texts = await Promise.all(["experiment", "screen"].map(loadTexts));
  const speech = { t: makeTranslate(Object.assign({}, ...texts)), language: config.language };
  const view = new ScreenView(document, speech);
  const draw = () => view.draw(state, clock.nowUs());
  const wakeLock = new WakeLock(navigator, () => {});
  wakeLock.hold();
  document.addEventListener("visibilitychange", () => wakeLock.renew());
  poller.start();
  setInterval(draw, DRAW_EVERY_MS);
  Object.defineProperty(globalThis, "siarScreen", { get: () => copyOf(state) });
}

/** @param {string} part */
async function loadTexts(part) {
  return (await askService(`/static/i18n/${config.language}/${part}.json`)).json();
}

/** Whether the server answered. */
async function ask() {
  const askedUs = nowUs();
  try {
    const signal = timeoutSignal(ANSWER_TIMEOUT_MS);
    const response = await askService(`/api/screen?key=${encodeURIComponent(key)}`, {
      headers: { "Accept-Language": config.language },
      signal,
      cache: "no-store",
    });
    if (!response.ok) {
      // A link that is not (or no longer) good stays so until the server starts anew: ask on, slowly.
      // Whoever else stands there, such as a proxy whose server is down, has no such words.
      const said = response.status < 500 ? null : await response.json().catch(() => null);
      state.detail = String(said?.detail ?? "");
      state.problem = response.status < 500 ? "bad_link" : state.detail ? "server_refuses" : "server_away";
      return false;
    }
    const room = await response.json();
    clock.onAnswer(room.server_us, askedUs);
    Object.assign(state, { room, heard_us: room.server_us, problem: null });
    return true;
  } catch {
    state.problem = "server_away";
    return false;
  }
}
