import assert from "node:assert/strict";
import test from "node:test";

import { HOLES_MAX, Order } from "../../static/js/order.js";

const note = (order, ...offsets) => offsets.map((offset) => order.note(`e.${offset}`, "sse"));

test("the first arrival sets the start: what was before it is not lost", () => {
  const order = new Order();

  note(order, 40, 41);

  assert.equal(order.lostCount("sse"), 0);
});

test("with a known start the first hole counts too", () => {
  const order = new Order();
  order.begin("e.39");

  note(order, 42);

  assert.equal(order.lostCount("sse"), 2);
});

test("a skipped offset is lost on the transport that skipped it, until it arrives after all", () => {
  const order = new Order();
  note(order, 1);
  order.note("e.4", "socketio");

  assert.equal(order.lostCount("socketio"), 2);
  assert.deepEqual(note(order, 2), [true]);
  assert.equal(order.lostCount("socketio"), 1);
  assert.equal(order.lostCount("sse"), 0);
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
  assert.equal(order.lostCount("sse"), 0);
});

test("another epoch starts over, and keeps what the old one lost", () => {
  const order = new Order();
  note(order, 1, 3);

  assert.equal(order.note("f.1", "sse"), true);
  assert.equal(order.lostCount("sse"), 1);
});

test("a gap of the same epoch is lost, and what follows it is not counted again", () => {
  const order = new Order();
  note(order, 1);

  order.noteGap({ from: 2, to: 9, reason: "expired", id: "e.9" }, "sse");
  note(order, 10);

  assert.equal(order.lostCount("sse"), 8);
});

for (const [from, to, lost] of [
  [1, 3, 3],
  [1, 0, 0],
]) {
  test(`a gap from ${from} to ${to} into another epoch is a loss of ${lost}`, () => {
    const order = new Order();
    note(order, 7);

    order.noteGap({ from, to, reason: "epoch", id: `f.${to}` }, "sse");
    order.note(`f.${to + 1}`, "sse");

    assert.equal(order.lostCount("sse"), lost);
  });
}

test("beyond the limit the oldest hole is final but stays counted", () => {
  const order = new Order();
  for (let index = 0; index <= HOLES_MAX + 1; index += 1) note(order, 1 + 2 * index);

  assert.equal(order.lostCount("sse"), HOLES_MAX + 1);
  assert.deepEqual(note(order, 2), [false]);
  assert.deepEqual(note(order, 4), [true]);
});

test("an id that is no position is shown and not counted", () => {
  assert.equal(new Order().note("nonsense", "sse"), true);
});
