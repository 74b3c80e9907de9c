import assert from "node:assert/strict";
import test from "node:test";

import { LATE_US, isUsable, toSample } from "../../static/js/samples.js";
import { arrival, connection, notification } from "./fakes.mjs";

const CLOCK = { offset_us: 0, bound_us: 500, state: "ok" };
const NO_CLOCK = { offset_us: null, bound_us: null, state: "no_clock" };

const resumed = (members) => connection({ resumed: true, opened_client_us: 50_000, ...members });

const CASES = [
  ["a punctual arrival is ok", {}, CLOCK, "ok", "on_time"],
  ["a second arrival is a duplicate", { is_new: false }, CLOCK, "ok", "duplicate"],
  ["five seconds are still on time", { received_client_us: LATE_US }, CLOCK, "ok", "on_time"],
  ["more than five seconds are late", { received_client_us: LATE_US + 1 }, CLOCK, "ok", "late"],
  ["a hidden page comes before any other reason", { visible: false }, NO_CLOCK, "hidden", "on_time"],
  ["without a clock nothing is late", { received_client_us: 9e9 }, NO_CLOCK, "no_clock", "on_time"],
  ["a wide bound is passed on", {}, { ...CLOCK, state: "wide_u" }, "wide_u", "on_time"],
  [
    "warm-up is marked by the source",
    { notification: notification(1, { data: { trial: { warmup: true } } }) },
    CLOCK,
    "warmup",
    "on_time",
  ],
  [
    "polling is another transport",
    { connection: connection({ carrier: "polling" }) },
    CLOCK,
    "polling",
    "on_time",
  ],
  [
    "SSE: sent before the stream was open again is a replay",
    { connection: resumed(), notification: notification(1, { sent_us: 50_499 }) },
    CLOCK,
    "replay",
    "replayed",
  ],
  [
    "SSE: sent when the stream was surely open is not",
    { connection: resumed(), notification: notification(1, { sent_us: 50_500 }) },
    CLOCK,
    "ok",
    "on_time",
  ],
  [
    "SSE: a resumed connection without a clock claims nothing punctual",
    { connection: resumed() },
    NO_CLOCK,
    "replay",
    "replayed",
  ],
  [
    "Socket.IO: at the position of CONNECT it is a replay",
    { connection: resumed({ transport: "socketio", position: "e.7" }), notification: notification(7) },
    CLOCK,
    "replay",
    "replayed",
  ],
  [
    "Socket.IO: behind it, it is not, whatever the stamps say",
    { connection: resumed({ transport: "socketio", position: "e.7" }), notification: notification(8) },
    NO_CLOCK,
    "no_clock",
    "on_time",
  ],
  [
    "a first connection replays nothing",
    { connection: connection({ opened_client_us: 9e9 }) },
    CLOCK,
    "ok",
    "on_time",
  ],
];

for (const [name, members, reading, state, outcome] of CASES) {
  test(name, () => {
    const made = toSample(arrival(members), reading, reading);

    assert.deepEqual([made.state, made.outcome], [state, outcome]);
  });
}

test("a sample carries the reading at its arrival, not that of the connection's opening", () => {
  const opened = { offset_us: 5, bound_us: 6, state: "ok" };

  const made = toSample(arrival(), CLOCK, opened);

  assert.deepEqual([made.clock_offset_us, made.clock_bound_us], [0, 500]);
});

test("only a measured first telling belongs into the median", () => {
  const usable = (state, outcome) => isUsable({ state, outcome });

  assert.ok(usable("ok", "on_time"));
  assert.ok(usable("ok", "late"));
  assert.ok(!usable("ok", "duplicate"));
  assert.ok(!usable("replay", "replayed"));
  assert.ok(!usable("hidden", "on_time"));
});
