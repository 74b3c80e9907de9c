import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";

import { formatBoundMs, formatMs } from "../../static/js/format.js";
import { makeTranslate } from "../../static/js/texts.js";
import {
  clockWords,
  delayWords,
  leftOutWords,
  medianWords,
  outboxWords,
  statusWords,
} from "../../static/js/words.js";

const root = new URL("../../", import.meta.url);
const read = (path) => readFileSync(new URL(path, root), "utf8");
const PARTS = ["page", "phone", "phone_page", "room", "result", "result_page"];
const catalogueOf = (language) =>
  Object.assign({}, ...PARTS.map((part) => JSON.parse(read(`static/i18n/${language}/${part}.json`))));
const catalogues = { en: catalogueOf("en"), id: catalogueOf("id") };
const english = { t: makeTranslate(catalogues.en), language: "en" };
const indonesian = { t: makeTranslate(catalogues.id), language: "id" };

/** The texts keep numbers and units together with no-break spaces. */
const plain = (text) => text.replaceAll("\u00a0", " ");

test("a median is told with its bound and what it is of", () => {
  const median = { delay_ms: 12.34, bound_ms: 0.71, sample_count: 57 };

  assert.deepEqual(medianWords(median, english).map(plain), ["12.3 ms ± 0.8 ms", "median, of 57"]);
  assert.deepEqual(medianWords(median, indonesian).map(plain), ["12,3 ms ± 0,8 ms", "median, dari 57"]);
  assert.deepEqual(medianWords(null, english), ["–", "no median yet"]);
});

for (const [boundMs, text] of [
  [0.8, "0.8"],
  [0.81, "0.9"],
  [0.0001, "0.1"],
  [0.3, "0.3"],
  [16.66, "16.7"],
]) {
  test(`a bound of ${boundMs} is shown as ${text}, never as less`, () => {
    assert.equal(formatBoundMs(boundMs, "en"), text);
  });
}

for (const [valueMs, text] of [
  [0.04, "0.0"],
  [-0.04, "0.0"],
  [-0.26, "-0.3"],
  [1234.56, "1,234.6"],
]) {
  test(`${valueMs} ms is shown as ${text}`, () => {
    assert.equal(formatMs(valueMs, "en"), text);
  });
}

test("the state is told in words", () => {
  assert.equal(
    statusWords({ phase: "receiving", transport: "socketio" }, english),
    "Receiving over Socket.IO.",
  );
  assert.equal(plain(delayWords({ delay_ms: 1, bound_ms: 0.5 }, english)), "1.0 ms ± 0.5 ms");
  assert.equal(delayWords(null, english), "not known yet");
  assert.equal(plain(clockWords({ state: "ok", bound_us: 640 }, english)), "set, to within ± 0.7 ms");
  assert.equal(clockWords({ state: "no_clock", bound_us: null }, english), catalogues.en["clock.no_clock"]);
  assert.equal(leftOutWords({}, english), "");
  assert.equal(
    leftOutWords({ hidden: 3, replay: 2 }, english),
    "Not in the median: 3 while hidden, 2 fetched later",
  );
});

test("what was dropped or refused is told only when there is any", () => {
  const status = { sent_count: 57, waiting_count: 3, dropped_count: 0, refused_count: 0 };

  assert.equal(outboxWords(status, english), "57 sent, 3 waiting");
  assert.equal(
    outboxWords({ ...status, dropped_count: 2, refused_count: 1 }, english),
    "57 sent, 3 waiting; 2 dropped: too many were waiting; 1 refused by the server",
  );
});

test("both languages have the same keys with the same places", () => {
  const shape = (catalogue) =>
    Object.entries(catalogue).map(([key, text]) => [key, (text.match(/\{\w+\}/g) ?? []).sort()]);

  assert.deepEqual(shape(catalogues.id), shape(catalogues.en));
});

test("no text is empty, and a value that is not given stays visible", () => {
  for (const catalogue of Object.values(catalogues))
    for (const text of Object.values(catalogue)) assert.ok(text);
  assert.equal(english.t("count.unheard_of"), "count.unheard_of");
  assert.equal(english.t("footer.run"), "run {run}");
});

test("every key that page and modules use has a text", () => {
  const modules = readdirSync(new URL("static/js/", root)).filter((name) => name.endsWith(".js"));
  const sources = [
    "templates/index.html",
    "templates/result.html",
    ...modules.map((name) => `static/js/${name}`),
  ].map(read);
  const used = sources.flatMap((source) =>
    [...source.matchAll(/\bt\(\s*["']([a-z_.]+)["']/g)].map((match) => match[1]),
  );

  assert.ok(used.length > 30);
  for (const key of used) assert.ok(key in catalogues.en, key);
});

test("every state, phase and problem that types.js names has a text", () => {
  const names = namesIn("static/js/types.js");

  for (const phase of names("Phase")) assert.ok(`status.${phase}` in catalogues.en, phase);
  for (const problem of names("Problem")) assert.ok(`problem.${problem}` in catalogues.en, problem);
  for (const state of names("SampleState"))
    assert.ok(state === "ok" || `state.${state}` in catalogues.en, state);
});

test("every step, check and problem of the room has a text", () => {
  const problems = namesIn("static/js/room_types.js")("RoomProblem");
  const checks = ["sse", "socketio", "clock"].flatMap((name) => [`${name}_ok`, `${name}_waiting`]);
  const endings = ["finished", "finished_without", "closed", "runner_silent"];
  const said = ["busy", "lost", "removed", "between", "paused", ...endings];

  for (const problem of [...problems, "second_tab"])
    assert.ok(`room.problem_${problem}` in catalogues.en, problem);
  for (const check of [...checks, "sse_unreachable", "sse_buffered", "sse_full", "socketio_full", "socketio_unreachable", "clock_silent"])
    assert.ok(`room.check_${check}` in catalogues.en, check);
  for (const mark of ["ok", "waiting", "advice"])
    assert.ok(`room.check_screen_${mark}` in catalogues.en, mark);
  for (const step of said) assert.ok(`room.say_${step}` in catalogues.en, step);
  for (const state of namesIn("static/js/forgetting.js")("ForgettingState"))
    assert.ok(`room.forget_${state}` in catalogues.en, state);
  for (const state of ["connecting", "ready", "running", "posting", "resting"])
    assert.ok(`room.round_${state}` in catalogues.en, state);
});

/** The names in a type of strings; it may take several lines. */
function namesIn(path) {
  const types = read(path).replaceAll(/\n \*\s*/g, " ");
  return (type) =>
    [...types.matchAll(new RegExp(`@typedef \\{([^{}]*)\\} ${type}\\b`, "g"))][0][1].match(/\w+/g);
}
