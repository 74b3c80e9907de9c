import assert from "node:assert/strict";
import test from "node:test";

import { ConductRecord, EVENTS_MAX, RESUMED_US } from "../../static/js/conduct.js";

const S = 1_000_000;

function record(visible = true) {
  return new ConductRecord({ visible, startUs: 0 });
}

test("a phone that stayed in front has nothing to tell", () => {
  assert.deepEqual(record().read(10 * S), {
    disconnects: 0,
    hidden_ms: 0,
    frozen_ms: 0,
    suspended_ms: 0,
    wall_ahead_us: null,
    events: [],
  });
});

test("the wall clock, cut to milliseconds, is known by its largest reading, and anew once it was set", () => {
  const conduct = record();
  const aheadUs = () => conduct.read(9 * S).wall_ahead_us;

  for (const readUs of [5_000_200, 5_000_900, 5_000_400]) conduct.noteWallClock(readUs);
  assert.equal(aheadUs(), 5_000_900);
  conduct.noteWallStep(3 * S);
  assert.equal(aheadUs(), null);
  conduct.noteWallClock(-7_000_000);
  assert.equal(aheadUs(), -7_000_000);
});

test("time hidden adds up, and runs on while the page is hidden", () => {
  const conduct = record();
  conduct.note("hidden", 1 * S);
  conduct.note("visible", 3 * S);
  conduct.note("hidden", 5 * S);

  const { hidden_ms, events } = conduct.read(6 * S);

  assert.equal(hidden_ms, 3000);
  assert.deepEqual(events, [
    [1 * S, "hidden"],
    [3 * S, "visible"],
    [5 * S, "hidden"],
  ]);
});

test("a trial that begins hidden counts from its start", () => {
  assert.equal(record(false).read(2 * S).hidden_ms, 2000);
});

for (const [gone, back] of [
  ["freeze", "resume"],
  ["pagehide", "pageshow"],
]) {
  test(`${gone} to ${back} is time frozen, and what comes right behind it had to wait`, () => {
    const conduct = record();
    conduct.note(gone, 1 * S);
    assert.equal(conduct.stateAt(2 * S), "frozen");
    conduct.note(back, 4 * S);

    assert.equal(conduct.read(9 * S).frozen_ms, 3000);
    assert.equal(conduct.stateAt(4 * S + RESUMED_US - 1), "resumed");
    assert.equal(conduct.stateAt(4 * S + RESUMED_US), "visible");
    // Asked behind it, it still knows what was before.
    assert.deepEqual([conduct.stateAt(2 * S), conduct.stateAt(0)], ["frozen", "visible"]);
    assert.deepEqual([conduct.wasVisibleAt(2 * S), conduct.wasVisibleAt(5 * S)], [false, true]);
  });
}

test("a frozen page whose timers stood still as well slept once, not twice", () => {
  const conduct = record();
  conduct.note("freeze", 1 * S);
  conduct.noteGap(2.9 * S, 4 * S);
  conduct.note("resume", 4 * S);

  assert.equal(conduct.read(5 * S).frozen_ms, 3000);
});

test("a gap that no event explains counts as frozen", () => {
  const conduct = record();
  conduct.noteGap(8 * S, 9 * S);

  assert.equal(conduct.read(10 * S).frozen_ms, 8000);
  assert.equal(conduct.stateAt(9 * S), "resumed");
});

test("a sleep of the device and broken connections are told apart from the rest", () => {
  const conduct = record();
  conduct.noteSuspended(30 * S, 2 * S);
  conduct.noteDisconnect(3 * S);
  conduct.noteWallStep(4 * S);

  const { suspended_ms, frozen_ms, disconnects, events } = conduct.read(5 * S);

  assert.deepEqual([suspended_ms, frozen_ms, disconnects], [30_000, 0, 1]);
  assert.deepEqual(
    events.map(([, kind]) => kind),
    ["suspended", "disconnect", "wall_step"],
  );
});

test("of a page that blinks for ever the first events are kept, and all of the time", () => {
  const conduct = record();
  for (let second = 0; second < 100; second += 2) {
    conduct.note("hidden", second * S);
    conduct.note("visible", (second + 1) * S);
  }

  const { hidden_ms, events } = conduct.read(100 * S);

  assert.equal(hidden_ms, 50_000);
  assert.equal(events.length, EVENTS_MAX);
  assert.deepEqual(events.at(-1), [(EVENTS_MAX - 1) * S, "visible"]);
});

test("behind a reload it goes on with what the page before has said, however much that was", () => {
  const left = {
    disconnects: 1,
    hidden_ms: 20,
    frozen_ms: 0,
    suspended_ms: 3,
    events: Array.from({ length: EVENTS_MAX }, (_, number) => [number, "hidden"]),
  };
  const conduct = new ConductRecord({ visible: true, startUs: 7, left });
  conduct.noteDisconnect(1 * S);

  const { disconnects, hidden_ms, suspended_ms, events } = conduct.read(2 * S);

  assert.deepEqual([disconnects, hidden_ms, suspended_ms], [2, 20, 3]);
  assert.equal(events.length, EVENTS_MAX);
  assert.deepEqual(events.at(-1), [7, "reload"]);
});
