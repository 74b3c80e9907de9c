import assert from "node:assert/strict";
import test from "node:test";

import { HOLES_MAX, Order } from "../../static/js/order.js";

const note = (order, ...offsets) => offsets.map((offset) => order.note(`e.${offset}`, "sse"));

/** What history says when it reaches back to the beginning and lists these offsets. */
const answer = (listed, { oldest = 1, through = Infinity, epoch = "e" } = {}) => ({
  epoch,
  oldest,
  listed,
  through,
});

/** [lost, unknown] of a transport. */
const missing = (order, transport = "sse") => Object.values(order.missing(transport));

test("the first arrival sets the start: what was before it is not missing", () => {
  const order = new Order();

  note(order, 40, 41);

  assert.deepEqual(missing(order), [0, 0]);
  assert.equal(order.openSpan(), null);
});

test("with a known start the first hole counts too", () => {
  const order = new Order();
  order.begin("e.39");

  note(order, 42);

  assert.deepEqual(order.openSpan(), { epoch: "e", first: 40, last: 41 });
});

test("a hole is unknown until history was asked, and then lost only where history lists it", () => {
  const order = new Order();
  note(order, 1, 6);
  assert.deepEqual(missing(order), [0, 4]);

  order.judge(answer([3]));

  assert.deepEqual(missing(order), [1, 0]);
  assert.equal(order.openSpan(), null);
});

test("where history no longer reaches back, a hole stays unknown and is not asked about again", () => {
  const order = new Order();
  note(order, 1, 10);

  order.judge(answer([6, 8], { oldest: 5 }));

  // 2 to 4 were dropped; 5, 7 and 9 are in history's reach and not listed.
  assert.deepEqual(missing(order), [2, 3]);
  assert.equal(order.openSpan(), null);
});

test("an empty history tells nothing", () => {
  const order = new Order();
  note(order, 1, 4);

  order.judge(answer([], { oldest: Infinity }));

  assert.deepEqual(missing(order), [0, 2]);
  assert.equal(order.openSpan(), null);
});

test("what lies behind the end of a long list stays open", () => {
  const order = new Order();
  note(order, 1, 10, 20);

  order.judge(answer([3, 4], { through: 4 }));

  assert.deepEqual(missing(order), [2, 5 + 9]);
  assert.deepEqual(order.openSpan(), { epoch: "e", first: 5, last: 19 });
});

test("an answer from another epoch says nothing of this one", () => {
  const order = new Order();
  note(order, 1, 3);

  order.judge(answer([2], { epoch: "f" }));

  assert.deepEqual(missing(order), [0, 1]);
  assert.notEqual(order.openSpan(), null);
});

test("what nobody can be asked about stays unknown", () => {
  const order = new Order();
  note(order, 1, 3);

  order.giveUp();
  note(order, 5);

  assert.deepEqual(missing(order), [0, 2]);
  assert.deepEqual(order.openSpan(), { epoch: "e", first: 4, last: 4 });
});

test("a skipped offset is missing on the transport that skipped it, until it arrives after all", () => {
  const order = new Order();
  note(order, 1);
  order.note("e.4", "socketio");
  order.judge(answer([2, 3]));

  assert.deepEqual(missing(order, "socketio"), [2, 0]);
  assert.deepEqual(note(order, 2), [true]);
  assert.deepEqual(missing(order, "socketio"), [1, 0]);
  assert.deepEqual(missing(order), [0, 0]);
});

test("what has been here before is not new, also in the middle of a filled hole", () => {
  const order = new Order();

  assert.deepEqual(note(order, 1, 5, 3, 3, 1, 5, 4, 2, 2), [
    true,
    true,
    true,
    false,
    false,
    false,
    true,
    true,
    false,
  ]);
  assert.deepEqual(missing(order), [0, 0]);
});

test("another epoch starts over, and keeps what the old one lost and what is unknown of it", () => {
  const order = new Order();
  note(order, 1, 4);
  order.judge(answer([2]));
  note(order, 7);

  assert.equal(order.note("f.1", "sse"), true);
  assert.deepEqual(missing(order), [1, 2]);
  assert.equal(order.openSpan(), null);
});

test("a gap of the same epoch is a hole; what the server looked through behind it is none", () => {
  const order = new Order();
  note(order, 1);

  order.noteGap({ from: 2, to: 9, reason: "expired", id: "e.12" }, "sse");
  note(order, 13);

  assert.deepEqual(order.openSpan(), { epoch: "e", first: 2, last: 9 });
  order.judge(answer([], { oldest: 10 }));
  assert.deepEqual(missing(order), [0, 8]);
});

for (const [from, to, stands, unknown] of [
  [1, 3, 3, 3],
  [1, 3, 8, 3],
  [1, 0, 0, 0],
]) {
  test(`a gap from ${from} to ${to} into another epoch at ${stands} leaves ${unknown} unknown`, () => {
    const order = new Order();
    note(order, 7);

    order.noteGap({ from, to, reason: "epoch", id: `f.${stands}` }, "sse");
    order.note(`f.${stands + 1}`, "sse");

    assert.deepEqual(missing(order), [0, unknown]);
  });
}

test("beyond the limit the oldest hole is final but stays counted", () => {
  const order = new Order();
  for (let index = 0; index <= HOLES_MAX + 1; index += 1) note(order, 1 + 2 * index);

  assert.deepEqual(missing(order), [0, HOLES_MAX + 1]);
  assert.deepEqual(note(order, 2), [false]);
  assert.deepEqual(note(order, 4), [true]);
});

test("an id that is no position is shown and not counted", () => {
  assert.equal(new Order().note("nonsense", "sse"), true);
});
