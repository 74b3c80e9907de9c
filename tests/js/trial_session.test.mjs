import assert from "node:assert/strict";
import test from "node:test";

import {
  END_MARGIN_US,
  NUDGE_PERIOD_MS,
  QUIET_AFTER_LAST_US,
  TrialSession,
} from "../../static/js/trial_session.js";
import { PIECE_PERIOD_US, leftOf } from "../../static/js/trial_log.js";
import { FakeTime, connection, notification, settle } from "./fakes.mjs";

const S = 1_000_000;

const TRIAL = {
  index: 4,
  block: 0,
  clients: 1,
  transport: "sse",
  take_part: true,
  expected_count: 3,
  warmup_count: 1,
  rate_hz: 1,
  drain_ms: 5_000,
  topic: "trial.4",
  factors: {},
  state: "connect",
  first_due_us: null,
  ends_us: null,
};

const WALL_AHEAD_US = 1_700_000_000 * S;

const FACTS = { secure_context: false, wake_lock: false, timer_step_us: 5 };

/** A trial on a phone whose clock is the server's. */
function makeTrial({
  trial = {},
  visible = true,
  clock = "ok",
  offsetUs = 0,
  answerOffsetUs = 0,
  left = null,
} = {}) {
  const time = new FakeTime();
  const world = {
    time,
    opened: [],
    closed: 0,
    asked: [],
    nudges: 0,
    added: [],
    conducts: [],
    pieces: [],
    probes: [],
    over: 0,
    told: [],
  };
  world.clock = clock;
  world.breakCount = 2;
  const keeper = {
    askNow: async (count) => void world.asked.push(count),
    nudge: () => (world.nudges += 1),
    read: () => ({ offset_us: offsetUs, bound_us: 300, state: "ok" }),
    status: () => ({ state: world.clock }),
    timebaseAt: () => "aa",
    takeProbes: () => [{ timebase: "aa", stamps: [0, 1, 2, 3, 4] }],
    kind: "websocket",
    get breakCount() {
      return world.breakCount;
    },
    roundTrips: { rtt_ms: 2, jitter_ms: 1, radio_jitter_ms: 40 },
  };
  const session = new TrialSession(
    { run: "r-1", trial: { ...TRIAL, ...trial }, visible, answerOffsetUs, left },
    {
      openStream: (transport, wanted, events) => {
        world.opened.push({ transport, wanted });
        world.events = events;
        return { close: () => (world.closed += 1) };
      },
      keeper,
      outbox: {
        add: (sample, context) => world.added.push({ sample, context }),
        addProbes: (probes) => world.probes.push(...probes),
        addConduct: (conduct, context) => world.conducts.push({ conduct, context }),
        emptied: async () => {},
      },
      log: {
        addPiece: (piece) => world.pieces.push(structuredClone(piece)),
        dropPieces: () => (world.pieces = []),
      },
      facts: FACTS,
      onArrival: (arrival) => world.told.push(arrival),
      onChange: () => {},
      onTimeOver: () => (world.over += 1),
      nowUs: time.nowUs,
      wallUs: () => time.now_us + WALL_AHEAD_US,
      timers: time.timers,
      random: () => 0,
    },
  );
  world.open = () => world.events.onOpen(connection({ opened_client_us: time.now_us }));
  world.receive = (seq, { trialIndex = 4, run = "r-1" } = {}) =>
    world.events.onNotification(
      notification(seq + 1, {
        due_us: time.now_us,
        data: { trial: { run, trial: trialIndex, seq, warmup: seq < 1 } },
      }),
      time.now_us,
    );
  return { session, world };
}

test("it opens exactly the transport under test, on the trial's topic, and Socket.IO without polling", () => {
  const { world } = makeTrial({ trial: { transport: "socketio" } });

  assert.deepEqual(world.opened, [
    {
      transport: "socketio",
      wanted: { lastEventId: null, topics: ["trial.4"], transports: ["websocket"] },
    },
  ]);
});

test("where polling is what the trial is about it begins with it, and its samples count", async () => {
  const { session, world } = makeTrial({ trial: { transport: "socketio", factors: { polling: true } } });
  world.events.onOpen(connection({ transport: "socketio", carrier: "polling" }));
  world.receive(1);
  await session.end();

  assert.deepEqual(world.opened[0].wanted.transports, ["polling", "websocket"]);
  assert.equal(world.added[0].sample.state, "ok");
});

test("it is ready when it is connected, in front, and knows the clock", () => {
  const { session, world } = makeTrial({ clock: "waiting" });
  assert.equal(session.isReady, false);
  world.open();
  assert.equal(session.isReady, false);
  world.clock = "ok";
  assert.equal(session.isReady, true);

  session.noteLifecycle("hidden", 0);
  assert.equal(session.isReady, false);
});

test("it is over a moment after the last notification was due, when all are here", async () => {
  const { world } = makeTrial();
  world.open();
  for (const seq of [0, 1, 2]) {
    world.receive(seq);
    if (seq < 2) await world.time.pass(1_000);
  }

  await world.time.pass(QUIET_AFTER_LAST_US / 1000 - 1);
  assert.equal(world.over, 0);
  await world.time.pass(1);

  assert.equal(world.over, 1);
  assert.deepEqual(
    world.told.map(({ count }) => count),
    [1, 2, 3],
  );
});

test("when something is missing it waits until the drain time is over, which it knows from any notification", async () => {
  const { session, world } = makeTrial();
  world.open();
  world.receive(0);
  assert.equal(session.endsUs, 7 * S);

  await world.time.pass((7 * S + END_MARGIN_US) / 1000 - 1);
  assert.equal(world.over, 0);
  await world.time.pass(1);

  assert.equal(world.over, 1);
});

test("without any notification the server's word for the end counts", async () => {
  const { session, world } = makeTrial();
  world.open();

  session.setEnd(3 * S);
  await world.time.pass((3 * S + END_MARGIN_US) / 1000);

  assert.equal(world.over, 1);
});

test("while the clock is not known, the end is read from the server's last answer and the last arrival", async () => {
  const { session, world } = makeTrial({ offsetUs: null, answerOffsetUs: 100 * S - 1000 });
  world.open();
  session.setEnd(110 * S);
  assert.equal(world.time.now_us, 0);

  await world.time.pass((10 * S + END_MARGIN_US) / 1000);
  assert.equal(world.over, 0);
  await world.time.pass(1);

  assert.equal(world.over, 1);
});

test("an arrival that tells more of the server's time than its last answer brings the end nearer", async () => {
  const { world } = makeTrial({ offsetUs: null, answerOffsetUs: -1 * S });
  world.open();
  world.receive(0);

  await world.time.pass((7 * S + END_MARGIN_US) / 1000 - 1);
  assert.equal(world.over, 0);
  await world.time.pass(1);

  assert.equal(world.over, 1);
});

test("at the end it closes, asks the clock once more, and posts samples and conduct to the trial", async () => {
  const { session, world } = makeTrial();
  world.open();
  world.receive(0);
  world.receive(1);
  session.noteLifecycle("hidden", 1 * S);
  session.noteLifecycle("visible", 2 * S);
  world.breakCount += 1;
  await world.time.pass(3_000);

  await session.end();

  const context = { run: "r-1", trial: 4, clock_channel: "websocket", timebase: "aa" };
  assert.equal(world.closed, 1);
  assert.deepEqual(world.asked, [16]);
  assert.deepEqual(
    world.added.map(({ sample, context: of }) => [sample.id, sample.state, sample.lifecycle, of]),
    [
      ["e.1", "warmup", "visible", context],
      ["e.2", "ok", "visible", context],
    ],
  );
  assert.deepEqual(world.conducts, [
    {
      conduct: {
        disconnects: 0,
        hidden_ms: 1000,
        frozen_ms: 0,
        suspended_ms: 0,
        wall_ahead_us: WALL_AHEAD_US,
        events: [
          [1 * S, "hidden"],
          [2 * S, "visible"],
        ],
        clock_steps: 1,
        expected_count: 3,
        received_count: 2,
        device: { ...FACTS, rtt_ms: 2, radio_jitter_ms: 40 },
      },
      context,
    },
  ]);
});

test("what belongs to another trial or run is none of its", () => {
  const { session, world } = makeTrial();
  world.open();

  world.receive(0, { trialIndex: 3 });
  world.receive(0, { run: "r-2" });

  assert.equal(session.hasBegun, false);
});

test("a notification that comes twice is a duplicate, and counts once", async () => {
  const { session, world } = makeTrial();
  world.open();
  world.receive(1);
  world.receive(1);
  await session.end();

  assert.deepEqual(
    world.added.map(({ sample }) => sample.outcome),
    ["on_time", "duplicate"],
  );
  assert.equal(world.conducts[0].conduct.received_count, 1);
});

test("a connection that breaks is counted once, however often it fails, and back again it asks the clock", async () => {
  const { session, world } = makeTrial();
  world.open();
  for (let count = 0; count < 3; count += 1) world.events.onDown();
  world.open();
  await settle();

  assert.deepEqual(world.asked, [undefined]);
  assert.equal(session.isConnected, true);
  assert.equal(session.conduct.read(0).disconnects, 1);
});

test("a warm radio gets a packet each 100 ms from the first moment until the end, an idle one none", async () => {
  const warm = makeTrial({ trial: { factors: { radio: "warm" } } });
  const idle = makeTrial({ trial: { factors: { radio: "idle" } } });
  for (const { world } of [warm, idle]) await world.time.pass(10 * NUDGE_PERIOD_MS);
  await warm.session.end();
  const atEnd = warm.world.nudges;

  await warm.world.time.pass(5_000);

  assert.deepEqual([atEnd, warm.world.nudges, idle.world.nudges], [11, 11, 0]);
});

test("a trial that was called off posts nothing", async () => {
  const { session, world } = makeTrial();
  world.open();
  world.receive(0);

  session.close();
  await session.end();
  await world.time.pass(60_000);

  assert.deepEqual([world.closed, world.added.length, world.conducts.length, world.over], [1, 0, 0, 0]);
});

test("what came is put down at most once a second, and right away when the page is hidden", async () => {
  const { session, world } = makeTrial({ trial: { expected_count: 10, rate_hz: 10 } });
  world.events.onOpen(connection({ position: "e.0", opened_client_us: 0 }));
  assert.deepEqual([world.pieces.length, leftOf(world.pieces).last_id], [1, "e.0"]);

  for (const seq of [0, 1, 2, 3]) {
    world.receive(seq);
    await world.time.pass(PIECE_PERIOD_US / 2_500);
  }
  assert.deepEqual(leftOf(world.pieces).seqs, [0, 1, 2, 3]);
  assert.equal(world.pieces.length, 2);
  world.receive(4);
  await world.time.pass(10);
  session.noteLifecycle("hidden", world.time.now_us);

  const left = leftOf(world.pieces);
  assert.deepEqual([left.seqs.length, left.last_id], [5, "e.5"]);
  assert.deepEqual(
    left.taken.map(({ sample }) => [sample.id, sample.state, sample.outcome]),
    [1, 2, 3, 4, 5].map((offset) => [`e.${offset}`, offset === 1 ? "warmup" : "ok", "on_time"]),
  );
});

test("behind a reload it resumes after what the page before had, and posts both together", async () => {
  const { world: before } = makeTrial();
  before.events.onOpen(connection({ position: "e.0", opened_client_us: 0 }));
  await before.time.pass(PIECE_PERIOD_US / 1_000);
  before.receive(0);
  const left = leftOf(before.pieces);

  const { session, world } = makeTrial({ left, trial: { state: "running" } });
  world.events.onOpen(connection({ resumed: true, position: "e.2", opened_client_us: 0 }));
  world.receive(1);
  world.receive(2);
  assert.equal(world.opened[0].wanted.lastEventId, "e.1");
  assert.equal(world.told.at(-1).count, 3);
  await session.end();

  assert.deepEqual(
    world.added.map(({ sample }) => [sample.id, sample.outcome]),
    [
      ["e.1", "on_time"],
      ["e.2", "replayed"],
      ["e.3", "on_time"],
    ],
  );
  const [{ conduct }] = world.conducts;
  assert.equal(conduct.received_count, 3);
  assert.deepEqual(
    conduct.events.map(([, kind]) => kind),
    ["reload"],
  );
  assert.deepEqual(world.pieces, []);
});
