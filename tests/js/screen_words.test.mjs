import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";

import {
  clockText,
  lengthWords,
  phaseWords,
  readyWords,
  roundWords,
  seatTicks,
  tickText,
} from "../../static/js/screen/words.js";
import { makeTranslate } from "../../static/js/texts.js";

const root = new URL("../../", import.meta.url);
const read = (path) => readFileSync(new URL(path, root), "utf8");
const catalogue = (language, part) => JSON.parse(read(`static/i18n/${language}/${part}.json`));
const texts = Object.assign({}, ...["page", "experiment", "screen", "admin"].map((part) => catalogue("en", part)));
const english = { t: makeTranslate(texts), language: "en" };

const good = {
  seat: 1,
  name: "Red Gecko",
  checks: { sse: "ok", socketio: "ok", clock: "ok" },
  ready: true,
  visible: true,
  awake: true,
  clock_bound_ms: 0.63,
  jitter_ms: 2.4,
};

const ticks = (members) => seatTicks({ ...good, ...members }, english);

test("a phone with which all is well has four good ticks, the bound rounded up", () => {
  assert.deepEqual(ticks().map(tickText), [
    "✓ connected",
    "✓ stays awake",
    "✓ clock ± 0.7 ms",
    "✓ radio ± 2.4 ms",
  ]);
});

for (const [what, members, place, state, text] of [
  ["was not heard of", { away: true }, 0, "bad", "not heard of"],
  ["gets no SSE", { checks: { sse: "failed" } }, 0, "bad", "SSE does not get through"],
  ["is still trying", { checks: { sse: "ok", socketio: "waiting" } }, 0, "waiting", "connected"],
  ["is hidden", { visible: false }, 1, "bad", "page hidden"],
  ["has no wake lock", { awake: false }, 1, "fair", "screen on"],
  ["has no clock yet", { clock_bound_ms: null }, 2, "waiting", "clock"],
  ["has its clock just well enough", { clock_bound_ms: 5 }, 2, "good", "clock ± 5.0 ms"],
  ["has too coarse a clock", { clock_bound_ms: 5.04 }, 2, "bad", "clock too coarse: ± 5.1 ms"],
  ["gets no clock", { checks: { clock: "failed" } }, 2, "bad", "clock"],
  ["has a dozing radio", { jitter_ms: 41 }, 3, "bad", "radio ± 41.0 ms"],
]) {
  test(`a phone that ${what} says so`, () => {
    assert.deepEqual(ticks(members)[place], { state, text });
  });
}

test("who is ready the server counts: a phone that went away is no part of it, whatever it said before", () => {
  const participants = [good, { ...good, seat: 2, away: true }];
  const room = { wanted_count: 6, joined_count: 2, ready_count: 1, participants };

  assert.equal(readyWords(room, english), "1 of 6 ready: starts by itself");
  assert.equal(readyWords({ ...room, wanted_count: 2 }, english), "1 of 2 ready: starts by itself when all are");
  assert.equal(readyWords({ wanted_count: 6, joined_count: 0, ready_count: 0 }, english), "Waiting for 6 phones");
});

test("every phase and every state of a trial has words", () => {
  const room = { practice: false, trial: null };
  for (const phase of ["closed", "gathering", "countdown", "running", "paused", "finished"])
    assert.doesNotMatch(phaseWords({ ...room, phase }, english), /phase\./);
  assert.match(
    phaseWords({ ...room, phase: "closed", closed_because: "runner_silent" }, english),
    /has not been heard of/,
  );
  for (const state of ["connect", "running", "collect"]) {
    const words = phaseWords({ phase: "running", trial: { state, transport: "sse", clients: 3 } }, english);
    assert.match(words, /SSE/);
  }
  assert.equal(roundWords({ round: 5, rounds: 48 }, english), "Round 5 of 48");
  assert.equal(roundWords({ round: null, rounds: null }, english), "");
});

test("lengths are told as people tell them", () => {
  assert.deepEqual([312, 59.2, 0, -3].map(clockText), ["5:12", "1:00", "0:00", "0:00"]);
  assert.equal(lengthWords(520, english), "about 9 min");
  assert.equal(lengthWords(34, english), "about 40 s");
});

test("every key that the pages and their modules use has a text, and no text is left unused", () => {
  const modules = ["admin", "screen"].flatMap((folder) =>
    readdirSync(new URL(`static/js/${folder}/`, root)).map((name) => `static/js/${folder}/${name}`),
  );
  const parts = readdirSync(new URL("templates/parts/", root)).map((name) => `templates/parts/${name}`);
  const source = ["templates/admin.html", "templates/screen.html", ...parts, ...modules].map(read).join("\n");

  const called = [...source.matchAll(/\bt\(\s*["']([a-z_]+\.[a-z_]+)["']/g)].map((match) => match[1]);
  const written = new Set([...source.matchAll(/["'`]([a-z_]+\.[a-z_]+)["'`]/g)].map((match) => match[1]));
  // Keys that are put together, by what they begin with.
  const made = [...source.matchAll(/\bt\(\s*[`"']([a-z_]+\.[a-z_]*)(?:\$\{|["'] ~)/g)].map((match) => match[1]);

  assert.ok(called.length > 60);
  for (const key of called) assert.ok(key in texts, key);
  const isUsed = (key) =>
    written.has(key) || made.some((prefix) => key.startsWith(prefix)) || key.startsWith("preset_");
  assert.deepEqual(Object.keys(texts).filter((key) => !isUsed(key)), []);
});
