import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { runInNewContext } from "node:vm";

import { Notices, SHOWN_COUNT_MAX } from "../../static/js/notices.js";
import { settle } from "./fakes.mjs";

const SCRIPT = "/static/js/notices/service_worker.js";
const FIRST = { id: "first", title: "Siar", body: "Like this" };
const BELL = { id: "e.1", title: "Door", body: "Somebody rings" };

/**
 * A browser with what it shows, by tag.
 *
 * `answer`: what the person says when asked. `lends`: whether a service worker may be had; "nowhere" where the browser
 * has none at all. `pageMay`: whether a page may show notifications by itself, as Chrome on Android allows none to.
 * `registered`: whether an earlier visit left a worker.
 */
function makeBrowser({
  permission = "default",
  answer = "granted",
  lends = true,
  pageMay = true,
  registered = false,
} = {}) {
  const shown = new Map();
  const asked = [];
  const put = (by, title, { body, tag }) => shown.set(tag, { by, title, body });

  class Notification {
    static permission = permission;
    static requestPermission = async () => (Notification.permission = answer);
    #tag;
    constructor(title, options) {
      if (!pageMay) throw new TypeError("Illegal constructor.");
      this.#tag = options.tag;
      put("page", title, options);
    }
    close() {
      shown.delete(this.#tag);
    }
  }

  const worker = new EventTarget();
  const registration = {
    installing: registered ? null : worker,
    waiting: null,
    active: registered ? worker : null,
    showNotification: async (title, options) => {
      if (!registration.active || Notification.permission !== "granted") throw new TypeError("Not now.");
      put("worker", title, options);
    },
    getNotifications: async ({ tag }) => (shown.has(tag) ? [{ close: () => shown.delete(tag) }] : []),
  };
  const activate = () => {
    Object.assign(registration, { installing: null, active: worker });
    worker.dispatchEvent(new Event("statechange"));
  };
  const serviceWorker = {
    register: async (url) => {
      asked.push(url);
      if (!lends) throw new Error("An SSL certificate error occurred when fetching the script.");
      queueMicrotask(activate);
      return registration;
    },
    getRegistration: async () => (registered ? registration : undefined),
  };
  const navigator = lends === "nowhere" ? {} : { serviceWorker };
  return { navigator, Notification, focus: () => {}, shown, asked, registration };
}

/** Notices of a page that was just opened in this browser, as page.js does it, and every state that they were in. */
async function open(browser) {
  const states = [];
  const notices = new Notices(browser, (state) => states.push(state));
  if (browser.Notification.permission === "granted") await notices.resume();
  return { notices, states };
}

test("before the button is pressed nothing is asked, registered or shown", async () => {
  const browser = makeBrowser();
  const { notices, states } = await open(browser);

  await notices.show(BELL);

  assert.deepEqual([states, browser.asked, browser.shown.size], [[], [], 0]);
  assert.equal(browser.Notification.permission, "default");
});

test("where a page may show none by itself, as in Chrome on Android, they come through the service worker", async () => {
  const browser = makeBrowser({ pageMay: false });
  const { notices, states } = await open(browser);

  await notices.turnOn(FIRST);
  await notices.show(BELL);

  assert.deepEqual(browser.asked, [SCRIPT]);
  assert.deepEqual(
    [...browser.shown.values()],
    [
      { by: "worker", title: "Siar", body: "Like this" },
      { by: "worker", title: "Door", body: "Somebody rings" },
    ],
  );
  assert.deepEqual(states, ["on"]);
});

for (const [name, lends] of [
  ["refuses the service worker, as under an untrusted certificate,", false],
  ["knows no service worker, as in a private window,", "nowhere"],
]) {
  test(`where a browser ${name} the page shows them by itself`, async () => {
    const browser = makeBrowser({ lends });
    const { notices, states } = await open(browser);

    await notices.turnOn(FIRST);
    await notices.show(BELL);

    assert.deepEqual(
      [...browser.shown.values()].map(({ by, title }) => [by, title]),
      [
        ["page", "Siar"],
        ["page", "Door"],
      ],
    );
    assert.deepEqual(states, ["on"]);
  });
}

test("where neither way works it is told, and not tried again with each notification", async () => {
  const browser = makeBrowser({ lends: false, pageMay: false });
  const { notices, states } = await open(browser);

  await notices.turnOn(FIRST);
  await notices.show(BELL);

  assert.deepEqual([states, browser.shown.size], [["failed"], 0]);
});

test("who says no is told what that means, and who puts it off may be asked again", async () => {
  const states = {};
  for (const answer of ["denied", "default"]) {
    const browser = makeBrowser({ answer });
    const opened = await open(browser);
    await opened.notices.turnOn(FIRST);
    states[answer] = opened.states;
    assert.deepEqual([browser.asked, browser.shown.size], [[], 0]);
  }

  assert.deepEqual(states, { denied: ["failed"], default: [] });
});

test("on the next visit they come without a question", async () => {
  const browser = makeBrowser({ permission: "granted", registered: true, pageMay: false });
  const { notices, states } = await open(browser);

  await notices.show(BELL);

  assert.deepEqual([states, browser.asked], [["on"], []]);
  assert.deepEqual([...browser.shown.values()], [{ by: "worker", title: "Door", body: "Somebody rings" }]);
});

test("where they were allowed and there is no worker any more, they are offered again, and then come", async () => {
  const browser = makeBrowser({ permission: "granted", pageMay: false });
  const { notices, states } = await open(browser);

  await notices.show(BELL);
  await notices.turnOn(FIRST);
  await notices.show(BELL);

  assert.deepEqual(states, ["on", "offered", "on"]);
  assert.deepEqual([...browser.shown.keys()], ["siar.first", "siar.e.1"]);
});

test("a permission that is taken back is noticed", async () => {
  const browser = makeBrowser();
  const { notices, states } = await open(browser);
  await notices.turnOn(FIRST);

  browser.Notification.permission = "denied";
  await notices.show(BELL);

  assert.deepEqual(states, ["on", "offered"]);
});

for (const lends of [true, false]) {
  const way = lends ? "through the service worker" : "by the page";

  test(`the same notification twice ${way} is one, and of many only the last stay`, async () => {
    const browser = makeBrowser({ lends });
    const { notices } = await open(browser);
    await notices.turnOn(FIRST);

    for (let number = 1; number <= 2 * SHOWN_COUNT_MAX; number += 1)
      await notices.show({ ...BELL, id: `e.${number}` });
    const last = `siar.e.${2 * SHOWN_COUNT_MAX}`;
    await notices.show({ ...BELL, id: `e.${2 * SHOWN_COUNT_MAX}`, title: "Again" });
    await settle();

    assert.ok(browser.shown.size <= SHOWN_COUNT_MAX, browser.shown.size);
    assert.equal([...browser.shown.keys()].at(-1), last);
    assert.equal(browser.shown.get(last).title, "Again");
  });
}

/** The service worker's own script, over pages that are open; what it did when a notification was pressed. */
async function press(urls) {
  const did = [];
  const listeners = {};
  const self = {
    location: new URL(SCRIPT, "http://siar.local"),
    addEventListener: (kind, listener) => (listeners[kind] = listener),
    clients: {
      matchAll: async (wanted) =>
        wanted.includeUncontrolled
          ? urls.map((url) => ({ url, focus: async () => did.push(["focus", url]) }))
          : [],
      openWindow: async (url) => did.push(["open", url]),
    },
  };
  runInNewContext(readFileSync(new URL(`../..${SCRIPT}`, import.meta.url), "utf8"), { self, URL });
  const waited = [];
  listeners.notificationclick({
    notification: { close: () => did.push(["close"]) },
    waitUntil: (promise) => waited.push(promise),
  });
  await Promise.all(waited);
  return { did, listens: Object.keys(listeners) };
}

test("a pressed notification brings the phone page to the front, and opens one where none is open", async () => {
  const phone = "https://192.0.2.7:5000/?lang=id";
  const result = "https://192.0.2.7:5000/results/run/key";

  assert.deepEqual((await press([result, phone])).did, [["close"], ["focus", phone]]);
  assert.deepEqual((await press([result])).did, [["close"], ["open", "/"]]);
});

test("the service worker hears of no request, no push and no installation", async () => {
  assert.deepEqual((await press([])).listens, ["notificationclick"]);
});
