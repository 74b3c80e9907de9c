/** The page's side of docs/transports.md's toy keeps what the page's transports promise. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { openLines } from "../support/toy/lines.js";

/** A stream of these pieces, one to a read, which then ends. */
function bodyOf(...pieces) {
  const pull = (controller) => {
    const piece = pieces.shift();
    if (piece === undefined) controller.close();
    else controller.enqueue(new TextEncoder().encode(piece));
  };
  return new Response(new ReadableStream({ pull }));
}

const line = (event, data) => `${JSON.stringify({ event, data })}\n`;

/** What a transport told, and the addresses that it asked for. */
function play(bodies, wanted = { lastEventId: null }) {
  const told = [];
  const asked = [];
  return new Promise((resolve) => {
    const stream = openLines(
      wanted,
      {
        onOpen: ({ resumed, position }) => told.push(["open", resumed, position]),
        onNotification: ({ id }, receivedUs) => told.push(["notification", id, receivedUs]),
        onGap: ({ from, to }) => told.push(["gap", from, to]),
        onDown: () => told.push(["down"]),
      },
      {
        fetch: async (url) => {
          asked.push(url);
          const body = bodies.shift();
          if (body !== undefined) return body;
          stream.close();
          resolve({ told, asked });
          throw new TypeError("no more");
        },
        nowUs: () => 7,
        timers: { setTimeout: (action) => queueMicrotask(action), clearTimeout: () => {} },
      },
    );
  });
}

test("lines are heard however they are cut, and stamped", async () => {
  const text = line("position", "e.1") + line("notification", { id: "e.2" });

  const { told } = await play([bodyOf(text.slice(0, 40), text.slice(40))]);

  assert.deepEqual(told, [["open", false, "e.1"], ["notification", "e.2", 7], ["down"]]);
});

test("a stream that breaks off is resumed from the last notification", async () => {
  const first = bodyOf(line("position", "e.1") + line("notification", { id: "e.2" }));
  const second = bodyOf(line("position", "e.9") + line("gap", { from: 3, to: 8, id: "e.8" }));

  const { told, asked } = await play([first, second]);

  assert.deepEqual(asked, ["/lines", "/lines?last_event_id=e.2", "/lines?last_event_id=e.8"]);
  assert.deepEqual(told.slice(3), [["open", true, "e.9"], ["gap", 3, 8], ["down"]]);
});

test("one that broke off before its first notification resumes from where it came in", async () => {
  const { asked } = await play([bodyOf(line("position", "e.1"))], { lastEventId: null, topics: ["a b"] });

  assert.deepEqual(asked, ["/lines?topic=a+b", "/lines?last_event_id=e.1&topic=a+b"]);
});
