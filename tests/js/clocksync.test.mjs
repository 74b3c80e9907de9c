/** V6 of `measurement.md`: JavaScript gives the doubles that Python put into the shared vectors. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { ClockModel } from "../../static/js/clockmodel.js";
import { ClockSync } from "../../static/js/clocksync.js";
import { burstPeriodUs, burstUs } from "../../static/js/probing.js";

const vectors = JSON.parse(readFileSync(new URL("../vectors/clocksync.json", import.meta.url), "ascii"));

/** Fails at the first number that is not the same double; `deepEqual` would tell 0 from -0, which JSON does not. */
function assertSame(actual, expected, what) {
  if (Array.isArray(expected)) {
    assert.equal(actual.length, expected.length, `${what}: length`);
    expected.forEach((value, index) => assertSame(actual[index], value, `${what}[${index}]`));
    return;
  }
  assert.ok(actual === expected, `${what}: ${actual} instead of ${expected}`);
}

function probeOf([t1_us, t2_us, t3_us, t4_us]) {
  return { t1_us, t2_us, t3_us, t4_us };
}

function readings(sync, samplesUs, options) {
  return samplesUs.map((sampleUs) => {
    const { offset_us, bound_us, state } = sync.read(sampleUs, options);
    return [offset_us, bound_us, state];
  });
}

for (const vector of vectors.cases) {
  test(`${vector.name}: the same doubles as Python`, () => {
    const sync = new ClockSync(vector.options);

    const added = vector.probes.map((probe) => sync.add(probeOf(probe), probe[4]));

    assertSame(added, vector.added, "added");
    assertSame(readings(sync, vector.samples_us), vector.readings, "readings");
    assertSame(readings(sync, vector.samples_us, { live: true }), vector.readings_live, "readings_live");
    const segments = sync.segments.map((s) => [s.start_us, s.end_us, s.timebase, s.probes.length]);
    assertSame(segments, vector.segments, "segments");
  });

  test(`${vector.name}: one model of many probes has the same corners as in Python`, () => {
    const probes = vector.probes.slice(0, 40).map(probeOf);

    const model = ClockModel.fit(probes);

    assertSame(model?.polygon ?? null, vector.fitted_corners, "fitted_corners");
  });
}

test("bursts keep their spacings and periods, from the least random number to the greatest", () => {
  const numbers = [0, 0.5, 1].values();

  assert.deepEqual(
    burstUs(4, () => numbers.next().value ?? 0),
    [0, 15_000, 42_500, 82_500],
  );
  assert.deepEqual(
    [0, 0.5, 1].map((number) => burstPeriodUs(() => number)),
    [4_000_000, 5_000_000, 6_000_000],
  );
});

test("a frozen page begins a new segment with the next probe", () => {
  const sync = new ClockSync();
  const probe = (t1_us) => ({ t1_us, t2_us: t1_us + 400, t3_us: t1_us + 400, t4_us: t1_us + 800 });
  sync.add(probe(0));

  sync.openSegment();

  assert.equal(sync.read(1e6, { live: true }).state, "epoch_break");
  assert.equal(sync.add(probe(2e6)), "accepted");
  assert.equal(sync.segments.length, 2);
});

test("without a probe there is no clock", () => {
  const sync = new ClockSync();

  assert.deepEqual(sync.read(0), { offset_us: null, bound_us: null, state: "no_clock" });
});
