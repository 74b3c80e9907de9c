// The oldest browsers that the pages name (static/i18n/*/page.json) understand what they are sent as it is.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { transformSync } from "esbuild";

const ROOT = new URL("../../static/", import.meta.url);
const OLDEST = { chrome: "91", safari: "15", firefox: "114" };
const TARGETS = Object.entries(OLDEST).map(([name, version]) => `${name}${version}`);

/** Written into each page, and read by browsers that are older still. */
const FIRST = "js/loading.js";

const scripts = readdirSync(new URL("js/", ROOT), { recursive: true })
  .filter((name) => name.endsWith(".js"))
  .map((name) => `js/${name}`);

const written = (name, target) =>
  transformSync(readFileSync(new URL(name, ROOT), "utf8"), { target, legalComments: "none" });

test("no script has syntax that the oldest browsers lack", () => {
  assert.ok(scripts.length > 90);
  for (const name of scripts) {
    const { code, warnings } = written(name, name === FIRST ? "es5" : TARGETS);
    assert.equal(code, written(name, "esnext").code, name);
    assert.deepEqual(warnings, [], name);
  }
});

test("what they lack would be found", () => {
  for (const [script, target] of [
    ["class A { static { A.b = 1; } }", TARGETS],
    ["const a = () => 1;", "es5"],
  ]) {
    let code;
    try {
      ({ code } = transformSync(script, { target }));
    } catch {
      continue; // It has no other way to say it.
    }
    assert.notEqual(code, transformSync(script, { target: "esnext" }).code);
  }
});

test("pages and documentation name them", () => {
  const words = ["../README.md", "../docs/classroom.md"].map((name) => readFileSync(new URL(name, ROOT), "utf8"));
  for (const language of ["en", "id"]) {
    const texts = (part) => JSON.parse(readFileSync(new URL(`i18n/${language}/${part}.json`, ROOT), "utf8"));
    words.push(texts("page")["page.load_failed"], texts("phone")["problem.worker"]);
  }
  for (const text of words)
    for (const name of [
      `Android WebView ${OLDEST.chrome},`,
      `Safari ${OLDEST.safari},`,
      `Firefox ${OLDEST.firefox},`,
    ])
      assert.ok(text.includes(name), `${name} in: ${text.slice(0, 80)}`);
});
