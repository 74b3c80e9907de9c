import assert from "node:assert/strict";
import test from "node:test";

import { armTitle, armsOf, rowsOf, totals } from "../../static/js/screen/arms.js";
import { BOX, layOut, roundStep } from "../../static/js/screen/bands.js";
import { isOurs } from "../../static/js/screen/outcome_view.js";
import { nextAskMs } from "../../static/js/screen/pace.js";
import { Poller } from "../../static/js/screen/poller.js";
import { ServerClock } from "../../static/js/screen/server_clock.js";
import { FakeTime, middle, settle } from "./fakes.mjs";

const speech = { t: (key) => ({ "transport.sse": "SSE", "transport.socketio": "Socket.IO" })[key], language: "en" };

const cell = (members = {}) => ({
  delay_ms_p50: 3,
  delay_ms_p25: 2,
  delay_ms_p75: 4,
  cpu_us_per_delivery: 50,
  delivered: 10,
  late: 1,
  lost: 2,
  asleep: 3,
  blocks: 1,
  ...members,
});

const trial = (members) => ({ expected_count: 35, rate_hz: 10, drain_ms: 2000, ends_us: null, ...members });

for (const [what, room, low, high] of [
  ["nothing is open", { phase: "closed", trial: null }, 2000, 5000],
  ["phones gather", { phase: "gathering", trial: null }, 500, 1000],
  ["it is between two trials", { phase: "running", trial: null }, 500, 1000],
  ["phones hand in", { phase: "running", trial: trial({ state: "collect", ends_us: 1 }) }, 500, 1000],
  ["phones connect", { phase: "running", trial: trial({ state: "connect" }) }, 9000, 10000],
  ["a trial runs", { phase: "running", trial: trial({ state: "running", ends_us: 12_000_000 }) }, 7000, 8000],
  ["practice runs", { phase: "gathering", trial: trial({ state: "running", ends_us: 12_000_000 }) }, 7000, 8000],
]) {
  test(`when ${what}, the page asks again in ${low} to ${high} ms`, () => {
    const waitMs = nextAskMs(room, 5_000_000);

    assert.ok(waitMs >= low && waitMs <= high, String(waitMs));
  });
}

test("a trial whose end has passed is asked about soon, and one that never ends not for ever", () => {
  const runs = (ends_us) => ({ phase: "running", trial: trial({ state: "running", ends_us }) });

  assert.equal(nextAskMs(runs(4_000_000), 5_000_000), 1000);
  assert.equal(nextAskMs(runs(1e15), 5_000_000), 120_000);
});

test("the answer with the shortest way sets the clock", () => {
  let nowUs = 1000;
  const clock = new ServerClock(() => nowUs);
  clock.onAnswer(5_000_500, 0);
  assert.equal(clock.nowUs(), 5_001_000);

  nowUs = 100_000;
  clock.onAnswer(9_000_000, 50_000);

  assert.equal(clock.nowUs(), 5_100_000);
});

test("who asks comes back at the pace it is told, later while nobody answers, at once when something was done", async () => {
  const time = new FakeTime();
  const answers = [true, false, false, true];
  let asked = 0;
  const ask = async () => answers[asked++] ?? true;
  const poller = new Poller({ ask, waitMs: () => 700, timers: time.timers, random: middle });

  poller.start();
  await settle();
  assert.deepEqual(time.waits_ms, [700]);
  await time.pass(700);
  assert.deepEqual(time.waits_ms, [750]);
  await time.pass(750);
  assert.deepEqual(time.waits_ms, [1500]);

  await poller.askNow();
  assert.deepEqual([asked, time.waits_ms], [4, [700]]);

  poller.stop();
  await time.pass(60_000);
  assert.equal(asked, 4);
});

test("a question that is wanted while one is under way follows it, and only once", async () => {
  const time = new FakeTime();
  const waiting = [];
  const ask = () => new Promise((resolve) => waiting.push(resolve));
  const poller = new Poller({ ask, waitMs: () => 700, timers: time.timers, random: middle });
  poller.start();

  poller.askNow();
  poller.askNow();
  assert.equal(waiting.length, 1);
  waiting[0](true);
  await time.pass(0);

  assert.equal(waiting.length, 2);
  waiting[1](true);
  await settle();
  assert.deepEqual([waiting.length, time.waits_ms], [2, [700]]);
  poller.stop();
});

for (const [name, title] of [
  ["sse", "SSE"],
  ["socketio.2", "Socket.IO 2"],
  ["sse, radio warm", "SSE radio warm"],
  ["something else", "something else"],
]) {
  test(`the arm "${name}" is shown as "${title}"`, () => {
    assert.equal(armTitle(name, speech), title);
  });
}

test("rows come by arm and then by count, numbers and not texts", () => {
  const results = { socketio: { 10: cell(), 3: cell() }, sse: { 10: cell(), 3: cell() } };

  assert.deepEqual(armsOf(results), ["sse", "socketio"]);
  assert.deepEqual(
    rowsOf(results).map(({ arm, clients }) => [arm, clients]),
    [["sse", 3], ["sse", 10], ["socketio", 3], ["socketio", 10]],
  );
  assert.deepEqual(totals(results), { delivered: 40, late: 4, lost: 8, asleep: 12 });
});

const read = (each) => ({ value: each.delay_ms_p50, low: each.delay_ms_p25, high: each.delay_ms_p75 });

test("a higher value lies higher, its quartiles around it, and all of it inside the box", () => {
  const results = { sse: { 1: cell(), 6: cell({ delay_ms_p50: 9, delay_ms_p25: 8, delay_ms_p75: 97 }) } };

  const { lines, x_ticks, y_ticks } = layOut(results, read);

  const [one, six] = lines[0].points;
  assert.ok(six.y < one.y && six.high_y < six.y && six.y < six.low_y);
  assert.ok(one.x < six.x);
  for (const { x, low_y, high_y } of lines[0].points) {
    assert.ok(x > BOX.left && x < BOX.width - BOX.right);
    assert.ok(high_y >= BOX.top && low_y <= BOX.height - BOX.bottom);
  }
  assert.deepEqual(x_ticks.map(({ value }) => value), [1, 6]);
  assert.equal(y_ticks[0].value, 0);
  assert.ok(y_ticks.at(-1).value >= 97 && y_ticks.length <= 6);
});

test("what was not measured has no point, and nothing at all still makes a chart", () => {
  const results = { sse: { 1: cell({ delay_ms_p50: null }), 3: cell() }, socketio: { 1: cell() } };

  const { lines } = layOut(results, read);

  assert.deepEqual(
    lines.map(({ points }) => points.map(({ clients }) => clients)),
    [[3], [1]],
  );
  assert.deepEqual(layOut({}, read).lines, []);
});

test("arms with the same value stand beside each other", () => {
  const { lines } = layOut({ sse: { 1: cell() }, socketio: { 1: cell() } }, read);

  assert.notEqual(lines[0].points[0].x, lines[1].points[0].x);
});

for (const [highest, step] of [[0, 1], [4, 1], [5, 1], [7.5, 2], [97, 20], [150, 50], [0.03, 0.01]]) {
  test(`up to ${highest} the axis goes in steps of ${step}`, () => {
    assert.ok(Math.abs(roundStep(highest) - step) < 1e-12, String(roundStep(highest)));
  });
}

for (const [url, ours] of [
  ["/api/runs/r/report", true],
  ["//elsewhere/report", false],
  ["/\\elsewhere/report", false],
  ["/\t/elsewhere/report", false],
  ["https://h:1/report", false],
  ["javascript:alert(1)", false],
  ["http://[", false],
]) {
  test(`a download at ${JSON.stringify(url)} is ${ours ? "" : "not "}offered`, () => {
    assert.equal(isOurs(url, "http://h:1"), ours);
  });
}
