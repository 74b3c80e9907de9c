import assert from "node:assert/strict";
import test from "node:test";

import { RunningMedian, SAMPLE_COUNT_MAX, median } from "../../static/js/median.js";
import { Tally } from "../../static/js/tally.js";
import { sample } from "./fakes.mjs";

for (const [values, expected] of [
  [[3], 3],
  [[3, 1], 2],
  [[10, 9, 1], 9],
  [[4, 1, 3, 2], 2.5],
]) {
  test(`the median of ${values} is ${expected}`, () => {
    assert.equal(median(values), expected);
  });
}

test("there is no median of nothing", () => {
  assert.equal(new RunningMedian().read(), null);
});

test("the true median lies within the bound, wherever in their bounds the true delays are", () => {
  const running = new RunningMedian();
  const samples = Array.from({ length: 31 }, (_, index) => [
    1000 + ((index * 7919) % 5000),
    100 + index * 40,
  ]);
  for (const [delay, bound] of samples) running.add(delay, bound);

  const { delay_ms, bound_ms } = running.read();

  for (let round = 0; round < 50; round += 1) {
    const truth = samples.map(([delay, bound], index) => delay + bound * Math.sin(index * 3 + round));
    assert.ok(Math.abs(median(truth) / 1000 - delay_ms) <= bound_ms);
  }
});

test("equal bounds are the bound of the median", () => {
  const running = new RunningMedian();
  for (const delay of [1000, 2000, 3000]) running.add(delay, 800);

  assert.deepEqual(running.read(), { delay_ms: 2, bound_ms: 0.8, sample_count: 3 });
});

test("at the limit the oldest sample drops out", () => {
  const running = new RunningMedian();
  for (let index = 0; index < SAMPLE_COUNT_MAX; index += 1) running.add(1000, 1);
  for (let index = 0; index < SAMPLE_COUNT_MAX; index += 1) running.add(2000, 1);

  assert.equal(running.read().delay_ms, 2);
  assert.equal(running.read().sample_count, SAMPLE_COUNT_MAX);
});

test("a tally counts outcomes and reasons, and takes only what is usable into its median", () => {
  const tally = new Tally();
  tally.addArrival();
  tally.addSample(sample());
  tally.addSample(sample("e.1", { outcome: "duplicate", received_client_us: 9e6 }));
  tally.addSample(sample("e.2", { state: "hidden", received_client_us: 9e6 }));
  tally.addSample(sample("e.3", { state: "replay", outcome: "replayed", received_client_us: 9e6 }));

  assert.deepEqual(tally.read({ lost_count: 4, unknown_count: 2 }), {
    received_count: 1,
    lost_count: 4,
    unknown_count: 2,
    duplicate_count: 1,
    replayed_count: 1,
    late_count: 0,
    left_out: { hidden: 1, replay: 1 },
    median: { delay_ms: 2, bound_ms: 0.3, sample_count: 1 },
  });
});
