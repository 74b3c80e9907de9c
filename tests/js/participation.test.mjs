import assert from "node:assert/strict";
import test from "node:test";

import { Participation } from "../../static/js/participation.js";
import { FakeTime, connection, notification, settle } from "./fakes.mjs";

const S = 1_000_000;

const TRIAL = {
  index: 0,
  block: 0,
  clients: 1,
  transport: "sse",
  take_part: true,
  expected_count: 2,
  warmup_count: 0,
  rate_hz: 1,
  drain_ms: 5_000,
  topic: "trial.0",
  factors: {},
  state: "connect",
  first_due_us: null,
  ends_us: null,
};

/** A phone with a server that answers what the test puts into `world.room`. */
function makePhone({ joinStatus = 201, joinBody = {}, pieces = [] } = {}) {
  const time = new FakeTime();
  const world = {
    time,
    reports: [],
    asked: [],
    posted: 0,
    interrupted: 0,
    streams: [],
    added: [],
    pieces,
    offset_us: 0,
    wall_us: 0,
  };
  world.room = {
    version: 1,
    phase: "gathering",
    run: "r-1",
    poll_after_ms: 1_000,
    you: { device: "d-1", name: "Red Gecko", seat: 1, joined: true, removed: false },
    joined_count: 1,
    wanted_count: 1,
    ready_count: 0,
    trial: null,
    countdown_to_us: null,
  };
  const request = async (method, path, body) => {
    world.asked.push(`${method} ${path}`);
    if (path === "/api/participants") return { status: joinStatus, body: joinBody };
    if (path !== "/api/assignment") return { status: 200, body: {} };
    world.reports.push(body);
    if (world.isAway) return { status: world.awayStatus ?? 0, body: world.awayBody ?? null };
    return { status: 200, body: { ...structuredClone(world.room), server_us: time.now_us } };
  };
  const keeper = {
    start: () => {},
    wake: async () => {
      world.offset_us += world.slept_us ?? 0;
      world.slept_us = 0;
    },
    finish: () => {},
    askNow: async () => {},
    nudge: () => {},
    read: () => ({ offset_us: world.offset_us, bound_us: 300, state: "ok" }),
    status: () => ({ state: "ok", offset_us: world.offset_us, bound_us: 300 }),
    timebaseAt: () => "aa",
    takeProbes: () => [],
    kind: "websocket",
    breakCount: 0,
    roundTrips: { rtt_ms: 2, jitter_ms: 1, radio_jitter_ms: 3 },
  };
  const phone = new Participation(
    { wish: { name: "Grace", model: "", join_code: "" }, visible: true },
    {
      device: { request },
      keeper,
      outbox: {
        add: (sample) => world.added.push(sample),
        addProbes: () => {},
        addConduct: (conduct) => (world.conduct = conduct),
        emptied: async () => void (world.posted += 1),
      },
      openStream: (transport, wanted, events) => {
        const stream = { transport, wanted, events, isOpen: true };
        if (wanted.topics[0] !== "siar.check") world.streams.push(stream);
        queueMicrotask(() => stream.isOpen && events.onOpen(connection({ transport })));
        return { close: () => (stream.isOpen = false) };
      },
      log: {
        pieces: async () => [...world.pieces],
        addPiece: (piece) => world.pieces.push(structuredClone(piece)),
        dropPieces: () => (world.pieces = []),
      },
      fetch: async () => new Response("retry: 1\n\n"),
      facts: { secure_context: false, wake_lock: false, timer_step_us: 5 },
      onTrials: () => (world.interrupted += 1),
      onArrival: () => {},
      onChange: () => {},
      nowUs: time.nowUs,
      wallUs: () => time.now_us + world.wall_us,
      timers: time.timers,
      random: () => 0.5,
    },
  );
  world.trial = (members) =>
    (world.room = { ...world.room, phase: "running", trial: { ...TRIAL, ...members } });
  world.receive = (seq) =>
    world.streams.at(-1).events.onNotification(
      notification(seq + 1, {
        due_us: time.now_us,
        data: { trial: { run: "r-1", trial: world.streams.length - 1, seq, warmup: false } },
      }),
      time.now_us,
    );
  return { phone, world };
}

/** A phone that has joined, with its checks behind it. */
async function joined() {
  const { phone, world } = makePhone();
  await phone.join();
  // The first byte of a real stream is read by real promises.
  for (let turn = 0; turn < 20 && !phone.state().isReady; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    await world.time.pass(100);
  }
  return { phone, world };
}

test("a phone that joins checks both transports and the clock, and says that it is ready", async () => {
  const { phone, world } = await joined();
  await world.time.pass(1_000);

  const { checks, ready, visible, clock_bound_ms } = world.reports.at(-1);
  assert.deepEqual(checks, { sse: "ok", socketio: "ok", clock: "ok" });
  assert.deepEqual([ready, visible, clock_bound_ms], [true, true, 0.3]);
  assert.equal(phone.state().step, "in");
});

for (const [status, body, problem] of [
  [403, { code: "code_wrong" }, "code_wrong"],
  [409, { code: "room_full" }, "room_closed"],
  [503, { code: "shutting_down" }, "server_refuses"],
  [400, { code: "malformed" }, "server_refuses"],
  [502, null, "server_away"],
  [0, null, "server_away"],
]) {
  test(`joining that is answered with ${status} leaves the phone out, with a sentence`, async () => {
    const { phone } = makePhone({ joinStatus: status, joinBody: body });

    await phone.join();

    assert.deepEqual([phone.state().step, phone.state().problems], ["out", [problem]]);
  });
}

test("a phone that leaves while it joins stays out, and is told of no refusal", async () => {
  for (const joinStatus of [201, 409]) {
    const { phone, world } = makePhone({ joinStatus });

    const joining = phone.join();
    await phone.leave();
    await joining;
    await world.time.pass(10_000);

    assert.deepEqual([phone.state().step, phone.state().problems], ["out", []]);
    assert.deepEqual(world.asked, ["POST /api/participants", "DELETE /api/participants/me"]);
  }
});

test("told to connect it opens the trial's transport, ends what else it received, and says when it is ready", async () => {
  const { world } = await joined();

  world.trial({ transport: "socketio" });
  await world.time.pass(1_500);

  assert.deepEqual(
    world.streams.map(({ transport }) => transport),
    ["socketio"],
  );
  assert.ok(world.interrupted > 0);
  assert.deepEqual([world.reports.at(-1).trial_ready, world.reports.at(-1).connected], [0, true]);
});

test("from the first notification on it asks nothing, until all have come and are posted", async () => {
  const { world } = await joined();
  world.trial();
  await world.time.pass(1_500);
  world.receive(0);
  await settle();
  const before = world.asked.length;

  await world.time.pass(1_000);
  world.receive(1);
  await world.time.pass(400);
  assert.equal(world.asked.length, before);
  await world.time.pass(1_000);

  assert.equal(world.posted, 1);
  assert.equal(world.reports.at(-1).trial_done, 0);
  assert.equal(world.streams[0].isOpen, false);
});

test("told that the trial runs until some time it asks nothing until then, though nothing comes", async () => {
  const { world } = await joined();
  world.trial();
  await world.time.pass(1_500);
  world.trial({ state: "running", ends_us: world.time.now_us + 6 * S });
  await world.time.pass(1_500);
  const before = world.asked.length;

  await world.time.pass(4_000);
  assert.equal(world.asked.length, before);
  await world.time.pass(2_000);

  assert.equal(world.reports.at(-1).trial_done, 0);
});

test("in a trial longer than the server's longest pause it asks nothing before the end, though the server would have it", async () => {
  const { world } = await joined();
  world.trial({ expected_count: 90 });
  await world.time.pass(1_500);
  world.trial({ expected_count: 90, state: "running", ends_us: world.time.now_us + 110 * S });
  world.room.poll_after_ms = 60_000;
  await world.time.pass(1_500);
  const before = world.asked.length;

  await world.time.pass(15_000);
  for (let seq = 0; seq < 60; seq += 1) {
    world.receive(seq);
    await world.time.pass(1_000);
  }
  await world.time.pass(30_000);

  assert.equal(world.asked.length, before);
});

test("a trial that it has done is not opened again, the next one is", async () => {
  const { world } = await joined();
  world.trial();
  await world.time.pass(1_500);
  for (const seq of [0, 1]) world.receive(seq);
  await world.time.pass(4_000);
  assert.equal(world.streams.length, 1);

  world.trial({ index: 1, topic: "trial.1" });
  await world.time.pass(1_500);

  assert.equal(world.streams.length, 2);
});

test("one that rests in a round opens nothing, and is silent until its end", async () => {
  const { phone, world } = await joined();
  world.trial({ take_part: false, state: "running", ends_us: world.time.now_us + 10 * S });
  await world.time.pass(1_500);
  const before = world.asked.length;

  await world.time.pass(8_000);

  assert.equal(world.asked.length, before);
  assert.equal(world.streams.length, 0);
  assert.equal(phone.state().trial.state, "resting");
});

test("a trial that the runner gave up is closed and not posted", async () => {
  const { world } = await joined();
  world.trial();
  await world.time.pass(1_500);

  world.room = { ...world.room, trial: null };
  await world.time.pass(1_500);

  assert.deepEqual([world.streams[0].isOpen, world.posted], [false, 0]);
});

test("a phone that was sent away is out, and asks no more", async () => {
  const { phone, world } = await joined();
  world.room = { ...world.room, you: { ...world.room.you, joined: false, removed: true } };
  await world.time.pass(1_500);
  const before = world.asked.length;

  await world.time.pass(10_000);

  assert.equal(phone.state().step, "out");
  assert.equal(world.asked.length, before);
});

test("a phone whose seat is gone says that the server was started anew, unless it says itself that it leaves", async () => {
  const { phone, world } = await joined();
  world.room = { ...world.room, you: { ...world.room.you, seat: null, joined: false } };
  await world.time.pass(1_500);
  assert.deepEqual([phone.state().step, phone.state().problems], ["out", ["run_lost"]]);

  await phone.leave();

  assert.deepEqual([phone.state().step, phone.state().problems], ["out", []]);
});

test("a server that is away is asked more and more seldom, and the page is told", async () => {
  const { phone, world } = await joined();
  world.isAway = true;
  const before = world.asked.length;

  await world.time.pass(60_000);

  assert.deepEqual(phone.state().problems, ["server_away"]);
  assert.ok(world.asked.length - before < 25);
  world.isAway = false;
  await world.time.pass(10_000);
  assert.deepEqual(phone.state().problems, []);
});

test("a server that refuses is not said to be away", async () => {
  const { phone, world } = await joined();
  Object.assign(world, { isAway: true, awayStatus: 503, awayBody: { code: "shutting_down" } });

  await world.time.pass(20_000);

  assert.deepEqual(phone.state().problems, ["server_refuses"]);
});

test("what is no JSON, as a Wi-Fi's own page, is no assignment, and it asks on", async () => {
  const { phone, world } = await joined();
  Object.assign(world, { isAway: true, awayStatus: 200 });
  await world.time.pass(20_000);
  assert.deepEqual(phone.state().problems, ["server_away"]);

  world.isAway = false;
  await world.time.pass(10_000);

  assert.deepEqual(phone.state().problems, []);
});

test("a jump of the wall clock that the server's clock shows too was a sleep; else the clock was set", async () => {
  for (const [slept_us, suspended_ms, kind] of [
    [30 * S, 30_000, "suspended"],
    [0, 0, "wall_step"],
  ]) {
    const { world } = await joined();
    world.trial();
    await world.time.pass(1_500);

    world.wall_us += 30 * S;
    world.slept_us = slept_us;
    await world.time.pass(1_000);
    for (const seq of [0, 1]) world.receive(seq);
    await world.time.pass(4_000);

    assert.equal(world.conduct.suspended_ms, suspended_ms);
    assert.deepEqual(
      world.conduct.events.map(([, each]) => each),
      [kind],
    );
  }
});

test("a page that was hidden in a trial is told that its round will be repeated", async () => {
  const { phone, world } = await joined();
  world.trial();
  await world.time.pass(1_500);
  world.receive(0);

  phone.noteLifecycle("hidden", world.time.now_us);
  phone.noteLifecycle("visible", world.time.now_us + S);

  assert.deepEqual(phone.state().problems, ["slept"]);
});

test("a phone that leaves after a round that it slept through has nothing repeated any more", async () => {
  const { phone, world } = await joined();
  world.trial();
  await world.time.pass(1_500);
  phone.noteLifecycle("hidden", world.time.now_us);
  phone.noteLifecycle("visible", world.time.now_us + S);

  await phone.leave();

  assert.deepEqual([phone.state().step, phone.state().problems], ["out", []]);
  assert.equal(world.asked.at(-1), "DELETE /api/participants/me");
});

/** What a page left behind that was loaded anew in the middle of this trial. */
const LEFT = {
  taken: [{ sample: { id: "e.1" }, context: {} }],
  seqs: [0],
  last_id: "e.1",
  conduct: { received_count: 1, clock_steps: 0, events: [[1, "hidden"]] },
  context: { run: "r-1", trial: 0, clock_channel: "websocket", timebase: "aa" },
};

test("a page that is loaded anew in a trial goes on with it, and tries nothing out meanwhile", async () => {
  const { phone, world } = makePhone({ pieces: [LEFT] });
  world.trial({ state: "running", ends_us: 9 * S });

  await phone.join();
  await world.time.pass(1_500);

  assert.deepEqual(
    world.streams.map(({ wanted }) => wanted.lastEventId),
    ["e.1"],
  );
  assert.equal(phone.isMeasuring, true);
  assert.equal(phone.state().isChecking, false);
});

for (const [when, members] of [
  ["while the others post", { state: "collect" }],
  ["in another trial", { index: 1, state: "running", ends_us: 9 * S }],
]) {
  test(`a page that is back ${when} posts what the trial had brought, with what happened`, async () => {
    const { phone, world } = makePhone({ pieces: [LEFT] });
    world.trial(members);

    await phone.join();
    await world.time.pass(1_500);

    assert.deepEqual(
      world.added.map(({ id }) => id),
      ["e.1"],
    );
    assert.deepEqual(
      world.conduct.events.map(([, kind]) => kind),
      ["hidden", "reload"],
    );
    assert.equal(world.pieces.filter(({ last_id }) => last_id === "e.1").length, 0);
    if (members.state === "collect") assert.equal(world.reports.at(-1).trial_done, 0);
  });
}

test("a page that is loaded anew before the trial began begins it as any", async () => {
  const { phone, world } = makePhone({ pieces: [{ ...LEFT, taken: [], seqs: [] }] });
  world.trial();

  await phone.join();
  await world.time.pass(1_500);

  assert.equal(world.conduct, undefined);
  assert.equal(world.streams[0].wanted.lastEventId, null);
  assert.equal(world.reports.at(-1).trial_ready, 0);
});
