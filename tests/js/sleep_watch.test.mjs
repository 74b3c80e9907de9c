import assert from "node:assert/strict";
import test from "node:test";

import { SleepWatch } from "../../static/js/sleep_watch.js";
import { FakeTime } from "./fakes.mjs";

const S = 1_000_000;

/** A watch over fake time, whose wall clock is set by `world.ahead_us`. */
function makeWatch() {
  const time = new FakeTime();
  const world = { time, ahead_us: 1e15, gaps: [], jumps: [] };
  const watch = new SleepWatch({
    nowUs: time.nowUs,
    wallUs: () => time.now_us + world.ahead_us,
    timers: time.timers,
    onGap: (durationUs) => world.gaps.push(durationUs),
    onJump: (byUs) => world.jumps.push(byUs),
  });
  watch.start();
  return { watch, world };
}

test("while time passes as it should, nothing is said", async () => {
  const { world } = makeWatch();

  await world.time.pass(60_000);

  assert.deepEqual([world.gaps, world.jumps], [[], []]);
});

test("timers that stood still are a gap of as long as they were late", async () => {
  const { watch, world } = makeWatch();
  await world.time.pass(2_000);

  world.time.now_us += 20 * S;
  watch.look();

  assert.equal(world.gaps.length, 1);
  assert.ok(Math.abs(world.gaps[0] - 20 * S) <= S / 2);
});

test("a busy second is no gap", async () => {
  const { watch, world } = makeWatch();
  await world.time.pass(2_000);

  world.time.now_us += 1 * S;
  watch.look();

  assert.deepEqual(world.gaps, []);
});

for (const byUs of [40 * S, -3 * S]) {
  test(`a wall clock that moved by ${byUs / S} s against ours is told once`, async () => {
    const { world } = makeWatch();
    await world.time.pass(2_000);

    world.ahead_us += byUs;
    await world.time.pass(5_000);

    assert.deepEqual(world.jumps, [byUs]);
  });
}

test("a wall clock that drifts is not told", async () => {
  const { world } = makeWatch();

  for (let second = 0; second < 600; second += 1) {
    world.ahead_us += 500;
    await world.time.pass(1_000);
  }

  assert.deepEqual(world.jumps, []);
});

test("a watch that is stopped says nothing", async () => {
  const { watch, world } = makeWatch();
  watch.stop();
  world.ahead_us += 9 * S;

  await world.time.pass(10_000);
  watch.look();

  assert.deepEqual([world.gaps, world.jumps], [[], []]);
});
