import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { browserOf, modelFrom } from "../../static/js/device_facts.js";
import { niceEnd, verdictOf } from "../../static/js/result_view.js";
import { problemsOutside, stepOf } from "../../static/js/room_steps.js";
import { checkWords, leftWords, lobbyWords, roundWords, stateWords } from "../../static/js/room_words.js";
import { RoundTrips } from "../../static/js/round_trips.js";
import { makeTranslate } from "../../static/js/texts.js";

const read = (part) =>
  JSON.parse(readFileSync(new URL(`../../static/i18n/en/${part}.json`, import.meta.url), "utf8"));
const speech = { t: makeTranslate({ ...read("phone"), ...read("room") }), language: "en" };
const plain = (text) => text.replaceAll("\u00a0", " ");

const you = { device: "d-1", name: "Red Gecko", seat: 1, joined: true, removed: false };
const seen = (members) => ({ phase: "gathering", trial: null, ...members, you: { ...you, ...members?.you } });
const inside = (members) => ({ step: "in", assignment: seen(members) });

for (const [expected, room, before] of [
  ["none", null, null],
  ["none", null, seen({ phase: "closed", you: { joined: false } })],
  ["join", null, seen({ you: { joined: false } })],
  ["join", null, seen({ phase: "running" })],
  ["busy", null, seen({ phase: "running", you: { joined: false, seat: null } })],
  // It left between two rounds: its seat is kept for it, and only for as long as there are rounds.
  ["join", null, seen({ phase: "running", you: { joined: false } })],
  ["join", { step: "out", problems: [] }, seen({ phase: "paused", you: { joined: false } })],
  ["join", null, seen({ phase: "countdown", you: { joined: false } })],
  ["removed", null, seen({ phase: "running", you: { joined: false, removed: true } })],
  ["none", null, seen({ phase: "finished", you: { joined: false } })],
  ["removed", { step: "out", problems: [] }, seen({ you: { removed: true } })],
  ["lost", { step: "out", problems: ["run_lost"] }, seen({ phase: "closed", you: { joined: false } })],
  ["lobby", { step: "in", assignment: null }, null],
  ["lobby", inside(), null],
  ["countdown", inside({ phase: "countdown" }), null],
  ["round", inside({ phase: "running", trial: {} }), null],
  ["round", inside({ trial: {} }), null],
  ["between", inside({ phase: "running" }), null],
  ["paused", inside({ phase: "paused" }), null],
  ["finished", inside({ phase: "finished" }), null],
  ["closed", inside({ phase: "closed" }), null],
]) {
  test(`the phone shows ${expected} for ${JSON.stringify(room?.assignment?.phase ?? before?.phase ?? null)}`, () => {
    assert.equal(stepOf(room, before), expected);
  });
}

const lost = { step: "out", problems: ["run_lost"] };
const gone = (phase) => seen({ phase, you: { joined: false, seat: null } });

for (const [expected, room, before, forgetting] of [
  ["forgotten", lost, gone("finished"), "done"],
  ["forgotten", lost, gone("closed"), "doing"],
  ["forgotten", { ...lost, problems: [] }, null, "done"],
  ["forgotten", { ...lost, problems: [] }, gone("finished"), "failed"],
  ["forgotten", { ...lost, problems: [] }, gone("running"), "done"],
  ["join", lost, gone("gathering"), "done"],
  ["none", { ...lost, problems: [] }, gone("finished"), "ask"],
  // Deleting met no answer, and the server has another room by now.
  ["lost", lost, gone("closed"), "failed"],
  ["finished", inside({ phase: "finished" }), null, "done"],
]) {
  test(`a phone whose wish to delete is ${forgetting} shows ${expected} in ${before?.phase}`, () => {
    assert.equal(stepOf(room, before, forgetting), expected);
  });
}

test("who had its data deleted is not told that the server was started anew", () => {
  assert.deepEqual(problemsOutside(lost, "doing"), []);
  assert.deepEqual(problemsOutside(lost, "done"), []);
  assert.deepEqual(problemsOutside(lost, null), ["run_lost"]);
  assert.deepEqual(problemsOutside(null, "done"), []);
});

test("outside of the room it is told what became of the wish to delete", () => {
  const words = (forgetting) =>
    stateWords("forgotten", { assignment: null, room: null, forgetting }, speech);

  assert.match(words("done"), /^Nothing about this phone is kept/);
  assert.equal(words("doing"), "Deleting…");
  assert.match(words("failed"), /Press to try again$/);
});

test("the lobby says how many are ready, and what this phone waits for", () => {
  const assignment = { ready_count: 4, wanted_count: 6 };

  assert.deepEqual(lobbyWords(assignment, true, speech), [
    "4 of 6 ready",
    "Starts by itself when all are ready. Keep this page in front.",
  ]);
  assert.equal(lobbyWords(assignment, false, speech)[1], "This phone is being checked.");
  assert.equal(lobbyWords({ ready_count: 6, wanted_count: 6 }, true, speech)[1], "Starts in a moment.");
});

test("a check that failed says what to do, a clock that is set how well", () => {
  const room = { reasons: { sse: "buffered" }, clock_bound_ms: 0.62 };

  assert.match(checkWords("sse", "failed", room, speech), /held back on the way/);
  assert.match(checkWords("socketio", "failed", room, speech), /refuses WebSockets/);
  assert.equal(plain(checkWords("clock", "ok", room, speech)), "Clock set, to within ± 0.7 ms");
  assert.equal(checkWords("screen", "advice", room, speech), "Screen may go off");
});

test("a round says what it waits for, and how long the whole still takes", () => {
  const trial = { state: "running", transport: "socketio", expected_count: 35 };

  assert.equal(roundWords("round", { trial }, speech), "of 35 received over Socket.IO");
  assert.match(roundWords("round", { trial: { ...trial, state: "resting" } }, speech), /^Others measure/);
  assert.equal(
    plain(leftWords({ round: 5, rounds: 48, remaining_s: 312 }, speech)),
    "Round 5 of 48 · about 5 min left",
  );
  assert.equal(leftWords({ round: null, rounds: null, remaining_s: null }, speech), "");
});

test("a room that was closed says why where no operator closed it", () => {
  const words = (closed_because) => stateWords("closed", { assignment: { closed_because }, room: null }, speech);

  assert.match(words(null), /^The experiment was closed\./);
  assert.match(words("runner_silent"), /^The experiment broke off: .* not been heard of/);
});

test("the end of an axis is a round number that is not too small", () => {
  assert.deepEqual([0.7, 1, 3.4, 8.6, 21, 800].map(niceEnd), [1, 1, 5, 10, 50, 1000]);
});

test("the verdict is told in the reader's language", () => {
  const verdict = { code: "equivalent", sentence_en: "Same.", sentence_id: "Sama." };

  const words = (verdict, language) => verdictOf({ verdict }, language);

  assert.equal(words(verdict, "id"), "Sama.");
  assert.equal(words(verdict, "en"), "Same.");
  assert.equal(words(null, "en"), "");
});

test("model and browser are read as far as a browser tells them", () => {
  const android = (model) =>
    `Mozilla/5.0 (Linux; Android 10; ${model}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Mobile Safari/537.36`;
  const apple =
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1";

  assert.equal(modelFrom(android("K")), "");
  assert.equal(modelFrom(android("SM-A125F Build/QP1A")), "SM-A125F");
  assert.equal(modelFrom(apple), "iPhone");
  assert.equal(browserOf(android("K")), "Chrome 124");
  assert.equal(browserOf(apple), "Safari 17");
  assert.equal(browserOf(apple.replace("Version/17.4", "Version/17.0 EdgiOS/124.0.2478.50")), "Edge 124");
  assert.equal(browserOf(`${android("K")} EdgA/124.0.0.0`), "Edge 124");
  assert.equal(browserOf("curl/8"), "");
});

test("the first probe of a burst tells whether the radio dozed", () => {
  const trips = new RoundTrips();
  assert.equal(trips.read().rtt_ms, null);
  for (let burst = 0; burst < 3; burst += 1) {
    trips.add(110_000, { isFirst: true });
    for (let count = 0; count < 7; count += 1) trips.add(4_000, { isFirst: false });
  }

  const { rtt_ms, radio_jitter_ms } = trips.read();

  assert.deepEqual([rtt_ms, radio_jitter_ms], [4, 106]);
});
