/** The self-test's judges, answers and record. */

import assert from "node:assert/strict";
import test from "node:test";

import { BACK_S_MAX, JUDGES } from "../../static/js/selftest/judges.js";
import { Line } from "../../static/js/selftest/line.js";
import { lookAtTimer, lookAtWakeLock } from "../../static/js/selftest/looks.js";
import { Record } from "../../static/js/selftest/record.js";
import { Protocol, STEPS } from "../../static/js/selftest/steps.js";
import { FakeTime, notification, settle } from "./fakes.mjs";

const BOTH = { sse: true, socketio: true };
const SSE_ONLY = { sse: true, socketio: false };

/** What happened, each as [second, kind, more]. */
function judge(step, rows, { isUp = BOTH, now_s = 300 } = {}) {
  const happenings = rows.map(([s, kind, more]) => ({ at_us: s * 1e6, kind, ...more }));
  return JUDGES[step]({ happenings, isUp, now_us: now_s * 1e6 });
}

const arrival = (transport, id, delay_ms = 5) => ({ transport, id, delay_ms });

test("a notification counts when both transports have brought the same one", () => {
  const first = [1, "arrival", arrival("sse", "e.1")];

  assert.equal(judge("receive", [first]), null);
  assert.equal(judge("receive", [first, [2, "arrival", arrival("socketio", "e.2")]]), null);
  assert.deepEqual(judge("receive", [first, [2, "arrival", arrival("socketio", "e.1", null)]]), {
    state: "passed",
    figures: { sse_ms: 5 },
  });
});

test("who was away for too short has not been away", () => {
  assert.equal(judge("hidden", [[1, "hidden"]]), null);
  assert.equal(
    judge("hidden", [
      [1, "hidden"],
      [5, "visible"],
    ]),
    null,
  );
  assert.equal(
    judge("lock", [
      [1, "hidden"],
      [41, "visible"],
    ]),
    null,
  );
});

test("who was away long enough passes once both transports are up, with what it took", () => {
  const rows = [
    [1, "hidden"],
    [2, "freeze"],
    [72, "visible"],
    [73, "down", { transport: "sse" }],
    [74.5, "up", { transport: "sse" }],
  ];

  assert.equal(judge("lock", rows, { isUp: SSE_ONLY, now_s: 80 }), null);
  assert.deepEqual(judge("lock", rows), {
    state: "passed",
    figures: { away_s: 71, frozen: 1, back_s: 2.5 },
  });
});

test("a connection that does not come back within its time has failed", () => {
  const rows = [
    [1, "hidden"],
    [30, "visible"],
  ];
  const at = { isUp: SSE_ONLY, now_s: 31 + BACK_S_MAX };

  assert.equal(judge("hidden", rows, at).reason, "not_back");
});

test("airplane mode is known by the browser's word or by what became of a connection", () => {
  const told = [
    [1, "offline"],
    [22, "online"],
    [23, "up", { transport: "sse" }],
  ];
  const seen = [
    [2, "down", { transport: "sse" }],
    [25, "up", { transport: "sse" }],
  ];

  assert.equal(judge("airplane", []), null);
  assert.equal(judge("airplane", told.slice(0, 1)), null);
  assert.deepEqual(judge("airplane", told).figures, { away_s: 21, back_s: 1 });
  assert.deepEqual(judge("airplane", seen).figures, { away_s: 23, back_s: 0 });
});

test("a page that is wider than a turned screen fails", () => {
  assert.equal(judge("rotate", []), null);
  assert.deepEqual(judge("rotate", [[1, "turned", { too_wide_px: 0 }]]), { state: "passed" });
  const turns = [
    [1, "turned", { too_wide_px: 12 }],
    [2, "turned", { too_wide_px: 0 }],
  ];
  assert.deepEqual(judge("rotate", turns).figures, { too_wide_px: 12 });
});

test("every guided step but the reload has a judge", () => {
  const guided = STEPS.filter(([, kind]) => kind === "guided").map(([step]) => step);

  assert.deepEqual(
    Object.keys(JUDGES),
    guided.filter((step) => step !== "reload"),
  );
});

test("answers are counted, and the first step without one is the current", () => {
  let changes = 0;
  const protocol = new Protocol(() => (changes += 1));
  protocol.set("qr", { state: "passed" });
  protocol.set("sse", { state: "failed", reason: "buffered" });
  protocol.set("socketio", { state: "running" });

  assert.equal(protocol.current, "socketio");
  assert.deepEqual(protocol.counts(), { all: STEPS.length, done: 2, passed: 1, failed: 1, skipped: 0 });
  assert.deepEqual(protocol.record()[1], { step: "sse", state: "failed", reason: "buffered" });
  assert.equal(changes, 3);
});

test("what was kept is taken up again, and what is no answer is not", () => {
  const protocol = new Protocol(() => {});

  protocol.restore([
    { step: "qr", state: "passed" },
    { step: "sse", state: "running" },
    { step: "x" },
    null,
    7,
  ]);
  protocol.restore("nonsense");

  assert.deepEqual(protocol.record(), [{ step: "qr", state: "passed" }]);
});

/** A record with a storage and a server of the test's own. */
function recordWith(statuses) {
  const time = new FakeTime();
  const kept = new Map();
  const storage = () => ({
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, text) => kept.set(key, text),
  });
  const posted = [];
  const said = [];
  const record = new Record({
    storage,
    timers: time.timers,
    post: async (body) => (posted.push(body), statuses.shift() ?? 200),
    onSaving: (saving) => said.push(saving),
  });
  return { record, time, posted, said, storage };
}

const PASSED = { steps: [{ step: "qr", state: "passed" }], remarks: "" };

test("answers are posted soon, and once for several changes at a time", async () => {
  const { record, time, posted, said } = recordWith([]);

  record.keep({ ...PASSED, remarks: "o" });
  record.keep({ ...PASSED, remarks: "odd" });
  await time.pass(1_000);

  assert.deepEqual(posted, [{ ...PASSED, remarks: "odd" }]);
  assert.equal(said.at(-1), "saved");
});

test("answers that found no server are posted until one takes them", async () => {
  const { record, time, posted, said } = recordWith([0, 503]);

  record.keep(PASSED);
  await time.pass(1_000);
  assert.equal(said.at(-1), "waiting");
  await time.pass(10_000);

  assert.equal(posted.length, 3);
  assert.equal(said.at(-1), "saved");
});

test("a server that refuses is not asked again", async () => {
  const { record, time, posted, said } = recordWith([400]);

  record.keep(PASSED);
  await time.pass(60_000);

  assert.equal(posted.length, 1);
  assert.equal(said.at(-1), "refused");
});

test("a reload finds what was kept, and that it was asked for", () => {
  const { record } = recordWith([]);
  assert.deepEqual(record.load(), { steps: undefined, remarks: "", reloading: false });

  record.keep({ ...PASSED, remarks: "odd" }, { reloading: true });

  assert.deepEqual(record.load(), { steps: PASSED.steps, remarks: "odd", reloading: true });
});

test("who has everything deleted has nothing posted behind it: not what waited, and not what was under way", async () => {
  const { record, time, posted } = recordWith([0]);
  record.keep(PASSED);
  await time.pass(1_000);
  assert.equal(posted.length, 1);

  await record.rest();
  await time.pass(60_000);
  assert.equal(posted.length, 1);
  record.keep({ ...PASSED, remarks: "anew" });
  await time.pass(1_000);

  assert.equal(posted.at(-1).remarks, "anew");
});

test("resting waits for the post that is under way, which is not repeated", async () => {
  const time = new FakeTime();
  let answer;
  const posted = [];
  const record = new Record({
    storage: () => ({ setItem: () => {} }),
    timers: time.timers,
    post: (body) => (posted.push(body), new Promise((resolve) => (answer = resolve))),
    onSaving: () => {},
  });
  record.keep(PASSED);
  await time.pass(1_000);
  let isResting = false;

  const resting = record.rest().then(() => (isResting = true));
  await settle();
  assert.equal(isResting, false);
  answer(0);
  await resting;
  await time.pass(60_000);

  assert.equal(posted.length, 1);
});

test("a protocol that is begun anew has no answers", () => {
  let changes = 0;
  const protocol = new Protocol(() => (changes += 1));
  protocol.set("qr", { state: "passed" });

  protocol.clear();

  assert.deepEqual([protocol.record(), protocol.current, changes], [[], "qr", 2]);
});

test("both transports are opened once, and what they do is told with its time", async () => {
  const opened = new Map();
  const told = [];
  const line = new Line({
    openStream: (transport, _wanted, events) => (opened.set(transport, events), { close: () => {} }),
    tell: (happening) => told.push(happening),
    nowUs: () => 7,
    delayMs: (dueUs, receivedUs) => (receivedUs - dueUs) / 1000,
  });

  line.start();
  line.start();
  opened.get("sse").onOpen({});
  opened.get("sse").onOpen({});
  opened.get("sse").onNotification(notification(1, { due_us: 1_000 }), 4_000);
  opened.get("sse").onDown();
  await settle();

  assert.deepEqual([...opened.keys()], ["sse", "socketio"]);
  assert.deepEqual(told, [
    { kind: "up", at_us: 7, transport: "sse" },
    { kind: "arrival", at_us: 4_000, transport: "sse", id: "e.1", delay_ms: 3 },
    { kind: "down", at_us: 7, transport: "sse" },
  ]);
  assert.deepEqual(line.isUp, { sse: false, socketio: false });
});

test("the timer's step is the smallest that is seen", () => {
  let reads = 0;
  const fine = () => Math.floor((reads += 1) / 3) * 100;
  assert.deepEqual(lookAtTimer(fine), { state: "passed", figures: { step_us: 100 } });

  reads = 0;
  const coarse = () => Math.floor((reads += 1) / 3) * 16_667;
  assert.equal(lookAtTimer(coarse).reason, "coarse");
});

test("without a wake lock the step is skipped, and a browser that refuses one has failed", async () => {
  const sentinel = { addEventListener: () => {}, release: () => {} };
  const granting = { wakeLock: { request: async () => sentinel } };
  const refusing = { wakeLock: { request: async () => Promise.reject(new Error("battery")) } };

  assert.deepEqual(await lookAtWakeLock({}), { state: "skipped", reason: "insecure" });
  assert.deepEqual(await lookAtWakeLock(granting), { state: "passed" });
  assert.equal((await lookAtWakeLock(refusing)).reason, "wake_refused");
});
