import assert from "node:assert/strict";
import test from "node:test";

import { FIRST_BYTE_MS, OPEN_MS, checkSocketIo, checkSse } from "../../static/js/checks.js";
import { makeOpenStream } from "../../static/js/streams.js";
import { FakeTime, connection, settle } from "./fakes.mjs";

/** A `fetch` that answers when the test says so, and breaks off when it is told to. */
function streamOf(make) {
  return (url, { signal }) =>
    new Promise((resolve, reject) => {
      signal.addEventListener("abort", () => reject(new DOMException("aborted", "AbortError")));
      const answer = make(signal);
      if (answer) resolve(answer);
    });
}

test("a stream whose first bytes come is fine", async () => {
  const fetch = streamOf(() => new Response("retry: 1000\n\n"));

  assert.deepEqual(await checkSse({ fetch, ...new FakeTime() }), { state: "ok", reason: null });
});

test("a stream whose headers come and whose bytes do not is held back on the way", async () => {
  const time = new FakeTime();
  const fetch = streamOf(
    (signal) =>
      new Response(
        new ReadableStream({
          start: (to) => signal.addEventListener("abort", () => to.error(new Error("cut"))),
        }),
      ),
  );

  const checked = checkSse({ fetch, timers: time.timers });
  await settle();
  await time.pass(FIRST_BYTE_MS);

  assert.deepEqual(await checked, { state: "failed", reason: "buffered" });
});

test("a stream that does not answer is out of reach", async () => {
  const time = new FakeTime();

  const checked = checkSse({ fetch: streamOf(() => null), timers: time.timers });
  await time.pass(OPEN_MS);

  assert.deepEqual(await checked, { state: "failed", reason: "unreachable" });
});

test("a stream that is refused is out of reach", async () => {
  const fetch = streamOf(() => new Response("no", { status: 503 }));

  assert.equal((await checkSse({ fetch, ...new FakeTime() })).state, "failed");
});

test("Socket.IO that opens is fine and closed again; one that does not is out of reach", async () => {
  const time = new FakeTime();
  const closed = [];
  const opening = (transport, wanted, events) => {
    queueMicrotask(() => events.onOpen(connection({ transport })));
    return { close: () => closed.push(transport) };
  };
  const silent = () => ({ close: () => closed.push("silent") });

  const opened = checkSocketIo({ openStream: opening, timers: time.timers });
  const refused = checkSocketIo({ openStream: silent, timers: time.timers });
  await time.pass(OPEN_MS);

  assert.equal((await opened).state, "ok");
  assert.deepEqual(await refused, { state: "failed", reason: "unreachable" });
  assert.deepEqual(closed, ["socketio", "silent"]);
});

test("a transport's code that did not load is loaded again, and said to be down meanwhile", async () => {
  const time = new FakeTime();
  const events = { down: 0, onDown: () => (events.down += 1) };
  let tries = 0;
  let opened = 0;
  const load = async () => {
    tries += 1;
    if (tries === 1) throw new TypeError("Failed to fetch dynamically imported module");
    return () => {
      opened += 1;
      return { close: () => (opened -= 1) };
    };
  };

  const stream = makeOpenStream({ sse: load }, time)("sse", {}, events);
  await time.pass(2_000);
  assert.deepEqual([events.down, opened], [1, 1]);
  stream.close();

  assert.equal(opened, 0);
});

test("a stream that was closed before its code came is never opened", async () => {
  let opened = 0;
  const load = async () => () => void (opened += 1);

  makeOpenStream({ sse: load }, new FakeTime())("sse", {}, {}).close();
  await settle();

  assert.equal(opened, 0);
});
