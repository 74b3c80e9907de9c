/** The operator's list of what phones answered at /selftest, in words. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { factsWords, phoneWords } from "../../static/js/admin/self_tests_view.js";
import { stepWords } from "../../static/js/selftest/words.js";
import { makeTranslate } from "../../static/js/texts.js";

const speechOf = (part, language) => {
  const file = new URL(`../../static/i18n/${language}/${part}.json`, import.meta.url);
  return { t: makeTranslate(JSON.parse(readFileSync(file, "utf8"))), language };
};

const STEPS = [
  { step: "clock", state: "passed", reason: null, figures: { bound_ms: 1.25 } },
  { step: "rotate", state: "failed", reason: "too_wide", figures: { too_wide_px: 12 } },
  { step: "join", state: "skipped", reason: null, figures: {} },
];

const record = (members) => ({
  device: "d-0123456789abcdef",
  received_us: Date.UTC(2026, 0, 2, 12) * 1000,
  remarks: "",
  facts: { model: "Pixel 7", browser: "Chrome 148" },
  steps: STEPS,
  ...members,
});

test("a phone's line says what it is, when it was, how many steps went how, and which device", () => {
  const english = speechOf("admin", "en");

  assert.equal(phoneWords(record(), english), "Pixel 7 · Chrome 148");
  assert.match(
    factsWords(record(), english),
    /^Jan 2, 2026, .* · 1 of 16 steps passed, 1 failed, 1 skipped · …abcdef$/,
  );
  assert.match(factsWords(record(), speechOf("admin", "id")), /1 dari 16 langkah lulus, 1 gagal, 1 dilewati/);
});

test("a browser that hides its model is called by its name, and one that says nothing is a phone", () => {
  const english = speechOf("admin", "en");

  assert.equal(phoneWords(record({ facts: { model: null, browser: "Firefox 149" } }), english), "Firefox 149");
  assert.match(phoneWords(record({ facts: { model: null, browser: null } }), english), /did not say/);
});

test("each step is told with why and with what was measured, in the operator's language", () => {
  const told = (language) => STEPS.map((step) => stepWords(step, speechOf("selftest", language)));

  assert.deepEqual(told("en"), [
    "The server's clock: passed · error at most 1.3 ms",
    "Turning the phone: failed · something is wider than the screen · 12 px too wide",
    "An experiment: skipped",
  ]);
  assert.equal(told("id")[2], "Sebuah percobaan: dilewati");
});

test("a step that somebody made up is shown by the name that it came with", () => {
  const words = stepWords({ step: "no_such", state: "failed" }, speechOf("selftest", "en"));

  assert.equal(words, "step.no_such: failed");
});
