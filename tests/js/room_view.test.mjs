/** The room's part of the page, over as much of a document as it needs. */

import assert from "node:assert/strict";
import test from "node:test";

import { RoomView } from "../../static/js/room_view.js";

/** A document whose elements are made when they are asked for. */
function makeDocument() {
  const elements = new Map();
  const makeElement = () => ({ dataset: {}, textContent: "", hidden: false, contains: () => false });
  return {
    baseURI: "http://192.168.1.2:8080/",
    activeElement: null,
    getElementById: (id) => elements.get(id) ?? elements.set(id, makeElement()).get(id),
  };
}

const FINISHED = {
  step: "finished",
  assignment: { phase: "finished", result_url: "/results/r-1/key", you: { name: "Red Gecko", seat: 1 } },
  room: null,
  count: 0,
  sinceMs: 0,
  isJoining: false,
  problem: null,
  forgetting: null,
  wakeLock: "held",
  isSecure: false,
};

/** Until everything that was asked for has been answered; the module of the drawing is loaded by then. */
async function settled() {
  await import("../../static/js/result_view.js");
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

test("a result whose drawing did not load is tried again when the page draws the next time, and not before", async (t) => {
  const asked = [];
  t.mock.method(globalThis, "fetch", async (url) => {
    asked.push(url);
    throw new TypeError("no connection");
  });
  const view = new RoomView(makeDocument(), { t: (key) => key, language: "en" });

  view.draw(FINISHED);
  view.draw(FINISHED);
  await settled();
  assert.deepEqual(asked, ["/api/results/r-1/key", "/static/i18n/en/result.json"]);
  view.draw(FINISHED);
  await settled();

  assert.equal(asked.length, 4);
});
