import assert from "node:assert/strict";
import test from "node:test";

import { Forgetting } from "../../static/js/forgetting.js";

/** A wish whose request the test answers with `answer(status)`. */
function makeForgetting() {
  const world = { asked: 0, gone: 0, answer: null };
  const forgetting = new Forgetting({
    request: () => {
      world.asked += 1;
      return new Promise((resolve) => (world.answer = (status) => resolve({ status, body: null })));
    },
    onGone: () => (world.gone += 1),
    onChange: () => {},
  });
  return { forgetting, world };
}

/** One that was pressed twice in this step, and met this answer. */
async function answered(status, step = "lobby") {
  const { forgetting, world } = makeForgetting();
  forgetting.follow(step);
  await forgetting.press();
  const pressed = forgetting.press();
  world.answer(status);
  await pressed;
  return { forgetting, world };
}

test("the first press asks, the second deletes, and further ones meanwhile do nothing", async () => {
  const { forgetting, world } = makeForgetting();

  await forgetting.press();
  assert.deepEqual([forgetting.state, world.asked], ["ask", 0]);
  const pressed = forgetting.press();
  await forgetting.press();
  assert.deepEqual([forgetting.state, world.asked], ["doing", 1]);
  world.answer(200);
  await pressed;

  assert.deepEqual([forgetting.state, world.gone], ["done", 1]);
});

for (const [status, state, gone] of [
  [200, "done", 1],
  [409, "later", 0],
  [429, "later", 0],
  [0, "failed", 0],
  [500, "failed", 1],
]) {
  test(`deleting that is answered with ${status} is ${state}`, async () => {
    const { forgetting, world } = await answered(status);

    assert.deepEqual([forgetting.state, world.gone], [state, gone]);
  });
}

test("a question that was not answered, and a later that was told, end with the step", async () => {
  const { forgetting } = makeForgetting();
  forgetting.follow("lobby");
  await forgetting.press();
  forgetting.follow("lobby");
  assert.equal(forgetting.state, "ask");
  forgetting.follow("countdown");
  assert.equal(forgetting.state, null);

  const { forgetting: told } = await answered(409, "between");
  told.follow("finished");
  assert.equal(told.state, null);
});

test("what was deleted is told in every step, until this phone joins again", async () => {
  const { forgetting } = await answered(200, "finished");

  for (const step of ["forgotten", "join"]) {
    forgetting.follow(step);
    assert.equal(forgetting.state, "done");
  }
  forgetting.reset();

  assert.equal(forgetting.state, null);
});

test("what failed is told on outside, and tried again by one press", async () => {
  const { forgetting, world } = await answered(500, "finished");
  forgetting.follow("forgotten");

  const pressed = forgetting.press();
  assert.equal(forgetting.state, "doing");
  world.answer(200);
  await pressed;
  assert.equal(forgetting.state, "done");

  const { forgetting: inside } = await answered(0, "lobby");
  inside.follow("countdown");
  assert.equal(inside.state, null);
});

test("who has joined while it was being deleted is not taken out again", async () => {
  const { forgetting, world } = makeForgetting();
  await forgetting.press();
  const pressed = forgetting.press();

  forgetting.reset();
  world.answer(200);
  await pressed;

  assert.deepEqual([forgetting.state, world.gone], [null, 0]);
});
