import assert from "node:assert/strict";
import test from "node:test";

import { RoomWatch } from "../../static/js/room_watch.js";
import { FakeTime, settle } from "./fakes.mjs";

/** A page's look at a room whose server gives these answers in turn, and no answer behind them. */
function makeWatch(...answers) {
  const time = new FakeTime();
  const seen = [];
  const request = async () => answers.shift() ?? { status: 0, body: null };
  const watch = new RoomWatch({ device: { request }, timers: time.timers, onAssignment: (each) => seen.push(each) });
  return { watch, time, seen };
}

const assignment = (poll_after_ms) => ({ status: 200, body: { poll_after_ms } });

test("the room is looked at again when the server says so, and not while the page is hidden", async () => {
  const { watch, time, seen } = makeWatch(assignment(7_000), assignment(0));
  watch.start();
  watch.start();
  await settle();
  assert.deepEqual(time.waits_ms, [7_000]);

  await time.pass(7_000);
  assert.deepEqual([seen.length, time.waits_ms], [2, [1_000]]);
  watch.stop();

  assert.deepEqual(time.waits_ms, []);
});

for (const [what, answer] of [
  ["no answer", { status: 0, body: null }],
  ["an error", { status: 503, body: { code: "x" } }],
  ["what is no JSON, as a Wi-Fi's own page,", { status: 200, body: null }],
]) {
  test(`behind ${what} the room is looked at again`, async () => {
    const { watch, time, seen } = makeWatch(answer, assignment(1_000));
    watch.start();
    await settle();
    assert.deepEqual(seen, []);

    await time.pass(5_000);

    assert.equal(seen.length, 1);
  });
}
