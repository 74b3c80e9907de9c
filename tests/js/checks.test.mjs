import assert from "node:assert/strict";
import test from "node:test";

import { FIRST_BYTE_MS, OPEN_MS, checkSocketIo, checkSse } from "../../static/js/checks.js";
import { makeOpenStream } from "../../static/js/streams.js";
import { whyDown } from "../../static/js/why_down.js";
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

const FULL = { status: 503, headers: { "Content-Type": "application/problem+json" } };

test("a server that is full is said to be full, by either check; a proxy's own 503 is not", async () => {
  const time = new FakeTime();
  const openStream = () => ({ close: () => {} });
  const asked = [];
  const full = async (path, { method = "GET" }) => {
    asked.push(`${method} ${path}`);
    return new Response(method === "HEAD" ? null : "{}", FULL);
  };

  const sse = await checkSse({ fetch: full, timers: time.timers });
  const socketio = checkSocketIo({ fetch: full, openStream, timers: time.timers });
  await time.pass(OPEN_MS);

  assert.deepEqual(sse, { state: "failed", reason: "full" });
  assert.deepEqual(await socketio, { state: "failed", reason: "full" });
  assert.deepEqual(asked, ["GET /events?topic=siar.check", "HEAD /events"]);
});

for (const [what, answer, why] of [
  ["full", () => new Response(null, FULL), "server_full"],
  ["behind a proxy that has no server", () => new Response(null, { status: 503 }), "server_away"],
  ["not there", () => Promise.reject(new TypeError("no")), "server_away"],
  [
    "behind a sign-in page",
    () => new Response("", { headers: { "Content-Type": "text/html" } }),
    "server_away",
  ],
  [
    "well",
    () => new Response(null, { headers: { "Content-Type": "text/event-stream; charset=utf-8" } }),
    "stream_blocked",
  ],
]) {
  test(`streams do not come about while the server is ${what}`, async () => {
    assert.equal(await whyDown(async () => answer()), why);
  });
}

test("Socket.IO that opens is fine and closed again; one that does not is out of reach", async () => {
  const time = new FakeTime();
  const closed = [];
  const opening = (transport, wanted, events) => {
    queueMicrotask(() => events.onOpen(connection({ transport })));
    return { close: () => closed.push(transport) };
  };
  const silent = () => ({ close: () => closed.push("silent") });

  const fetch = () => Promise.reject(new TypeError("no network"));
  const opened = checkSocketIo({ fetch, openStream: opening, timers: time.timers });
  const refused = checkSocketIo({ fetch, openStream: silent, timers: time.timers });
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
