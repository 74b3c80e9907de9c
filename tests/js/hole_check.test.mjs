import assert from "node:assert/strict";
import test from "node:test";

import { ASK_AFTER_MS, HoleCheck, TRIAL_QUIET_MS, TRIES_MAX } from "../../static/js/hole_check.js";
import { Order } from "../../static/js/order.js";
import { FakeTime, middle, settle } from "./fakes.mjs";

/** Half of the random share. */
const WAIT_MS = ASK_AFTER_MS * 1.5;

/** Longer than all tries take. */
const ALL_TRIES_MS = 600_000;

/** A check over an order with one hole, and a history that answers with what the test sets. */
function makeCheck({ offsets = [1, 3] } = {}) {
  const time = new FakeTime();
  const world = { time, asked: [], askedUs: [], order: new Order(), changes: 0 };
  world.answer = { epoch: "e", oldest: 1, listed: [], through: Infinity };
  const askHistory = async (span) => {
    world.asked.push(span);
    world.askedUs.push(time.nowUs());
    return world.answer;
  };
  world.check = new HoleCheck(world.order, {
    askHistory,
    onChange: () => (world.changes += 1),
    ...time,
    random: middle,
  });
  world.receive = (...received) => {
    for (const offset of received) {
      world.order.note(`e.${offset}`, "sse");
      world.check.note();
    }
  };
  world.missing = () => Object.values(world.order.missing("sse"));
  world.receive(...offsets);
  return world;
}

test("without a hole nobody is asked", async () => {
  const world = makeCheck({ offsets: [1, 2, 3] });

  await world.time.pass(ALL_TRIES_MS);

  assert.deepEqual(world.asked, []);
});

test("a hole is asked about once, some time after it opened", async () => {
  const world = makeCheck();
  await world.time.pass(WAIT_MS - 1);
  assert.deepEqual(world.asked, []);

  await world.time.pass(ALL_TRIES_MS);

  assert.deepEqual(world.asked, [{ epoch: "e", first: 2, last: 2 }]);
  assert.deepEqual(world.missing(), [0, 0]);
  assert.equal(world.changes, 1);
});

test("many holes make one question", async () => {
  const world = makeCheck({ offsets: [1, 3, 5, 9] });

  await world.time.pass(WAIT_MS);

  assert.deepEqual(world.asked, [{ epoch: "e", first: 2, last: 8 }]);
});

test("a hole that is filled in time is not asked about", async () => {
  const world = makeCheck();
  world.receive(2);

  await world.time.pass(ALL_TRIES_MS);

  assert.deepEqual(world.asked, []);
});

test("while a trial is measured nobody is asked", async () => {
  const world = makeCheck();
  for (let second = 0; second < 60; second += 1) {
    world.check.noteTrial(world.time.nowUs());
    await world.time.pass(1000);
  }
  assert.deepEqual(world.asked, []);

  await world.time.pass(TRIAL_QUIET_MS);

  assert.equal(world.asked.length, 1);
});

test("a question without an answer is asked again, ever later, and at last given up", async () => {
  const world = makeCheck();
  world.answer = null;
  await world.time.pass(WAIT_MS);
  assert.equal(world.asked.length, 1);
  await world.time.pass(ALL_TRIES_MS);

  assert.equal(world.asked.length, TRIES_MAX);
  const pausesMs = world.askedUs.slice(1).map((atUs, before) => (atUs - world.askedUs[before]) / 1000);
  assert.deepEqual(pausesMs, [750, 1500, 3000, 6000, 12000, 22500, 22500]);
  assert.deepEqual(world.missing(), [0, 1]);
  assert.deepEqual(world.time.waits_ms, []);
});

test("after it was given up a new hole is asked about, and the old one is not", async () => {
  const world = makeCheck();
  world.answer = null;
  await world.time.pass(ALL_TRIES_MS);

  world.answer = { epoch: "e", oldest: 1, listed: [4], through: Infinity };
  world.receive(5);
  await world.time.pass(WAIT_MS);

  assert.deepEqual(world.asked.at(-1), { epoch: "e", first: 4, last: 4 });
  assert.deepEqual(world.missing(), [1, 1]);
});

test("what history no longer holds is not asked about again: it will never hold it", async () => {
  const world = makeCheck();
  world.answer = { epoch: "e", oldest: 3, listed: [], through: Infinity };

  await world.time.pass(ALL_TRIES_MS);

  assert.equal(world.asked.length, 1);
  assert.deepEqual(world.missing(), [0, 1]);
});

test("a long list is asked for in parts", async () => {
  const world = makeCheck({ offsets: [1, 9] });
  world.answer = { epoch: "e", oldest: 1, listed: [2], through: 4 };
  await world.time.pass(WAIT_MS);
  world.answer = { epoch: "e", oldest: 1, listed: [8], through: 8 };
  await world.time.pass(WAIT_MS);

  assert.deepEqual(world.asked, [
    { epoch: "e", first: 2, last: 8 },
    { epoch: "e", first: 5, last: 8 },
  ]);
  assert.deepEqual(world.missing(), [2, 0]);
});

test("at the end what is open is asked about at once, and never again", async () => {
  const world = makeCheck();
  world.answer = null;

  await world.check.finish();
  await world.time.pass(ALL_TRIES_MS);

  assert.equal(world.asked.length, 1);
  assert.deepEqual(world.missing(), [0, 1]);
});

test("an end in the midst of a trial asks nothing", async () => {
  const world = makeCheck();
  world.check.noteTrial(world.time.nowUs());

  await world.check.finish();
  await settle();

  assert.deepEqual(world.asked, []);
});
