import assert from "node:assert/strict";
import test from "node:test";

import { WakeLock } from "../../static/js/wake_lock.js";
import { settle } from "./fakes.mjs";

/** A browser that grants locks when the test says so, and knows which are held. */
function makeBrowser() {
  const held = new Set();
  const asked = [];
  const request = () => new Promise((resolve, reject) => asked.push({ resolve, reject }));
  const grant = async () => {
    const sentinel = new EventTarget();
    sentinel.release = () => {
      held.delete(sentinel);
      sentinel.dispatchEvent(new Event("release"));
    };
    held.add(sentinel);
    asked.shift().resolve(sentinel);
    await settle();
  };
  const refuse = async () => {
    asked.shift().reject(new Error("low battery"));
    await settle();
  };
  return { held, asked, grant, refuse, navigator: { wakeLock: { request } } };
}

test("however often a lock is wanted while the browser hesitates, one is asked for and given back", async () => {
  const browser = makeBrowser();
  const told = [];
  const lock = new WakeLock(browser.navigator, (isHeld) => told.push(isHeld));

  for (let turn = 0; turn < 3; turn += 1) lock.hold();
  lock.renew();
  while (browser.asked.length > 0) await browser.grant();
  lock.release();

  assert.equal(browser.held.size, 0);
  assert.equal(lock.isHeld, false);
  assert.deepEqual(told, [true, false]);
});

test("a lock that was refused is asked for again", async () => {
  const browser = makeBrowser();
  const lock = new WakeLock(browser.navigator, () => {});
  lock.hold();
  await browser.refuse();

  lock.renew();
  await browser.grant();

  assert.equal(lock.isHeld, true);
});

test("a lock that comes when nobody wants it any more is given back at once", async () => {
  const browser = makeBrowser();
  const lock = new WakeLock(browser.navigator, () => {});
  lock.hold();

  lock.release();
  await browser.grant();

  assert.deepEqual([lock.isHeld, browser.held.size], [false, 0]);
});
