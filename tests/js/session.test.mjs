import assert from "node:assert/strict";
import test from "node:test";

import { CHANGE_AFTER_COUNT, CHANGE_AFTER_S } from "../../static/js/alternation.js";
import { Session } from "../../static/js/session.js";
import { FakeTime, connection, middle, notification, settle } from "./fakes.mjs";

const CLOCK = { offset_us: 0, bound_us: 300, state: "ok" };

/** A session with a clock that is always right and streams that say what the test tells them to. */
function makeSession({ choice = "sse", visible = true } = {}) {
  const time = new FakeTime();
  const world = { time, streams: [], added: [], told: [], flushes: 0, wakes: 0, asks: 0, silent: false };
  Object.assign(world, { spans: [], listed: [] });
  const keeper = {
    start: () => {},
    wake: () => (world.wakes += 1),
    askNow: () => (world.asks += 1),
    finish: async () => {},
    read: () => CLOCK,
    timebaseAt: () => "aa",
    kind: "websocket",
    get isSilent() {
      return world.silent;
    },
    status: () => ({ ...CLOCK, client_us: 0, channel: "websocket", answered_count: 32 }),
  };
  const session = new Session(
    { choice, visible },
    {
      openStream: (transport, lastEventId, events) => {
        const stream = { transport, lastEventId, events, isClosed: false };
        world.streams.push(stream);
        return { close: () => (stream.isClosed = true) };
      },
      makeKeeper: (onBurst) => {
        world.burst = onBurst;
        return keeper;
      },
      outbox: {
        add: (sample, context) => world.added.push({ sample, context }),
        flush: async () => (world.flushes += 1),
        status: () => ({ sent_count: 0, waiting_count: 0, dropped_count: 0, refused_count: 0 }),
        failedCount: 0,
      },
      tell: (message) => world.told.push(message),
      whyDown: async () => world.why ?? "server_away",
      askHistory: async (span) => {
        world.spans.push(span);
        return { epoch: "e", oldest: 1, listed: world.listed, through: span.last };
      },
      onChange: () => {},
      nowUs: time.nowUs,
      timers: time.timers,
      random: middle,
    },
  );
  session.start();
  world.receive = (offset, receivedUs = 1000, members = {}) =>
    world.streams.at(-1).events.onNotification(notification(offset, members), receivedUs);
  world.open = (members) =>
    world.streams.at(-1).events.onOpen(connection({ transport: world.streams.at(-1).transport, ...members }));
  return { session, world };
}

test("an arrival is shown at once and judged when a burst that began after it is in", () => {
  const { session, world } = makeSession();
  world.open();
  world.receive(1, 5000);
  assert.deepEqual(world.told[0].reading, { delay_ms: 5, bound_ms: 0.3 });
  assert.equal(session.state().outbox.waiting_count, 1);

  world.burst(4999);
  assert.equal(world.added.length, 0);
  world.burst(5001);

  assert.equal(world.added.length, 1);
  assert.equal(session.state().tallies.sse.median.delay_ms, 5);
  assert.equal(session.state().outbox.waiting_count, 0);
});

test("Stop judges what is left behind a last burst, and sends it", async () => {
  const { session, world } = makeSession();
  world.open();
  world.receive(1);

  await session.stop();

  assert.ok(world.streams[0].isClosed);
  assert.equal(world.added.length, 1);
  assert.equal(world.flushes, 1);
  assert.equal(session.state().phase, "stopped");
});

test("a duplicate is counted and posted, and neither shown nor received twice", () => {
  const { session, world } = makeSession();
  world.open();
  world.receive(1);
  world.receive(1);
  world.burst(Infinity);

  const { received_count, duplicate_count } = session.state().tallies.sse;
  assert.deepEqual([received_count, duplicate_count, world.told.length], [1, 1, 1]);
  assert.deepEqual(
    world.added.map(({ sample }) => sample.outcome),
    ["on_time", "duplicate"],
  );
});

test("when a page drew a notification is in its sample", () => {
  const { session, world } = makeSession();
  world.open();
  world.receive(1);

  session.noteDisplayed("e.1", 17_000);
  world.burst(Infinity);

  assert.equal(world.added[0].sample.displayed_client_us, 17_000);
});

test("both: the other transport takes over after ten notifications, from where the first one ended", () => {
  const { session, world } = makeSession({ choice: "both" });
  world.open();
  for (let offset = 1; offset <= CHANGE_AFTER_COUNT; offset += 1) world.receive(offset);

  assert.deepEqual(
    world.streams.map(({ transport, lastEventId, isClosed }) => [transport, lastEventId, isClosed]),
    [
      ["sse", null, true],
      ["socketio", "e.10", false],
    ],
  );
  assert.equal(session.state().transport, "socketio");
});

test("both: a stream that brought nothing is taken over from where it would have resumed", async () => {
  const { world } = makeSession({ choice: "both" });
  world.open({ resumes_from: "e.6" });

  await world.time.pass(CHANGE_AFTER_S * 1000);

  assert.equal(world.streams[1].lastEventId, "e.6");
});

test("both: in silence the change comes with the time", async () => {
  const { world } = makeSession({ choice: "both" });

  await world.time.pass(CHANGE_AFTER_S * 2 * 1000);

  assert.deepEqual(
    world.streams.map(({ transport }) => transport),
    ["sse", "socketio", "sse"],
  );
});

test("one transport stays, however much arrives", async () => {
  const { world } = makeSession({ choice: "socketio" });
  world.open();
  for (let offset = 1; offset <= 30; offset += 1) world.receive(offset);
  await world.time.pass(CHANGE_AFTER_S * 2 * 1000);

  assert.deepEqual(
    world.streams.map(({ transport }) => transport),
    ["socketio"],
  );
});

test("a page that is hidden judges and sends at once, and its arrivals are not timed", async () => {
  const { session, world } = makeSession();
  world.open();
  world.receive(1);

  session.setVisible(false);
  await settle();
  assert.equal(world.flushes, 1);
  world.receive(2);
  session.setVisible(true);
  world.burst(Infinity);

  assert.equal(world.wakes, 1);
  assert.deepEqual(
    world.added.map(({ sample }) => [sample.state, sample.visible]),
    [
      ["ok", true],
      ["hidden", false],
    ],
  );
});

test("one failed try is no problem, two are; an open stream ends it", async () => {
  const { session, world } = makeSession();
  world.open();

  world.streams[0].events.onDown();
  assert.deepEqual([session.state().phase, session.state().problems], ["reconnecting", []]);
  world.streams[0].events.onDown();
  await settle();
  assert.deepEqual(session.state().problems, ["server_away"]);
  assert.equal(world.asks, 0);
  world.open({ resumed: true });

  assert.deepEqual([session.state().phase, session.state().problems], ["receiving", []]);
  // The server may be another by now: its clock is asked at once.
  assert.equal(world.asks, 1);
});

test("a server that answers is not said to be away, and nobody is told why a stream failed that is open again", async () => {
  const { session, world } = makeSession();
  world.why = "server_full";

  world.streams[0].events.onDown();
  world.streams[0].events.onDown();
  await settle();
  assert.deepEqual(session.state().problems, ["server_full"]);
  world.why = "stream_blocked";
  world.streams[0].events.onDown();
  await settle();
  assert.deepEqual(session.state().problems, ["stream_blocked"]);
  world.streams[0].events.onDown();
  world.open({ resumed: true });
  await settle();

  assert.deepEqual(session.state().problems, []);
});

test("a clock that does not answer is a problem of its own", () => {
  const { session, world } = makeSession();
  world.open();
  world.silent = true;

  assert.deepEqual(session.state().problems, ["clock_silent"]);
});

test("samples of a trial are posted to it, others to the server's live run", () => {
  const { world } = makeSession();
  world.open();
  world.receive(1, 1000, { data: { trial: { run: "r-1", trial: 4, seq: 0, warmup: false } } });
  world.receive(2, 1000, { data: { trial: "not one of ours" } });
  world.burst(Infinity);

  const common = { clock_channel: "websocket", timebase: "aa" };
  assert.deepEqual(
    world.added.map(({ context }) => context),
    [
      { run: "r-1", trial: 4, ...common },
      { run: null, trial: null, ...common },
    ],
  );
});

test("a session that was stopped before it began opens no stream", async () => {
  const { session, world } = makeSession();
  const count = world.streams.length;
  await session.stop();

  session.start();

  assert.equal(world.streams.length, count);
});

test("of what is missing only that counts as lost which was sent to everyone", async () => {
  const { session, world } = makeSession();
  world.open();
  world.receive(1);
  world.receive(4);
  const { lost_count, unknown_count } = session.state().tallies.sse;
  assert.deepEqual([lost_count, unknown_count], [0, 2]);
  world.listed = [3];

  await world.time.pass(10_000);

  assert.deepEqual(world.spans, [{ epoch: "e", first: 2, last: 3 }]);
  const told = session.state().tallies.sse;
  assert.deepEqual([told.lost_count, told.unknown_count], [1, 0]);
});

test("a hole in a trial waits until the trial is over", async () => {
  const { world } = makeSession();
  const data = { trial: { run: "r-1", trial: 4, seq: 0, warmup: false } };
  world.open();
  world.receive(1);
  for (let second = 0; second < 10; second += 1) {
    world.receive(3 + 2 * second, world.time.nowUs(), { data });
    await world.time.pass(1000);
  }
  assert.deepEqual(world.spans, []);

  await world.time.pass(2000);

  assert.equal(world.spans.length, 1);
});

test("the first of several arrivals is timed and posted within a moment, as its sender waits for the receipt", async () => {
  const { world } = makeSession();
  world.open();
  for (const offset of [1, 2, 3]) world.receive(offset, 1000 * offset);

  await world.time.pass(1_000);
  assert.deepEqual([world.asks, world.flushes], [1, 1]);
  world.receive(4, 6_000_000);
  await world.time.pass(1_000);

  assert.deepEqual([world.asks, world.flushes], [2, 2]);
});

test("notifications of a trial are in no hurry", async () => {
  const { world } = makeSession();
  world.open();
  world.receive(1, 1000, { data: { trial: { run: "r-1", trial: 4, seq: 0, warmup: false } } });

  await world.time.pass(1_000);

  assert.equal(world.asks, 0);
});
