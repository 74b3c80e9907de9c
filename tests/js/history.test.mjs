import assert from "node:assert/strict";
import test from "node:test";

import { LIST_LIMIT, askHistory, askPosition } from "../../static/js/history.js";

/** A server's history with these offsets, as `GET /api/notifications` lists it. */
function makeServer({ offsets = [], position = "e.100", status = 200 } = {}) {
  const server = { asked: [], offsets, position, status };
  server.fetch = async (path) => {
    server.asked.push(path);
    const { searchParams } = new URL(path, "http://h");
    const [after, limit] = ["after", "limit"].map((name) => Number(searchParams.get(name)));
    assert.ok(after >= 0 && limit >= 1);
    const notifications = server.offsets
      .filter((offset) => offset > after)
      .slice(0, limit)
      .map((offset) => ({ id: `e.${offset}`, offset }));
    return new Response(JSON.stringify({ position: server.position, notifications }), {
      status: server.status,
    });
  };
  return server;
}

const span = (first, last) => ({ epoch: "e", first, last });

test("one question is enough where what came before the hole is listed", async () => {
  const server = makeServer({ offsets: [1, 2, 3, 5, 8] });

  assert.deepEqual(await askHistory(server.fetch, span(4, 7)), {
    epoch: "e",
    oldest: 3,
    listed: [5],
    through: 7,
  });
  assert.deepEqual(server.asked, [`/api/notifications?after=2&limit=${LIST_LIMIT}`]);
});

test("where it is not, the oldest of all says how far back history reaches", async () => {
  // 3 was for others, as was 4: that 1 is still there tells that neither was dropped.
  const server = makeServer({ offsets: [1, 5] });

  const { oldest, listed } = await askHistory(server.fetch, span(4, 4));

  assert.deepEqual([oldest, listed], [1, []]);
  assert.equal(server.asked.length, 2);
});

test("a history that begins behind the start of the hole says so", async () => {
  const { oldest, listed } = await askHistory(makeServer({ offsets: [6, 8] }).fetch, span(2, 7));

  assert.deepEqual([oldest, listed], [6, [6]]);
});

test("a history that drops what it has just listed has listed it all the same", async () => {
  const server = makeServer({ offsets: [6, 8] });
  const fetch = (path) => {
    if (server.asked.length === 1) server.offsets = [8];
    return server.fetch(path);
  };

  assert.equal((await askHistory(fetch, span(2, 7))).oldest, 6);
});

test("an empty history reaches nowhere", async () => {
  assert.equal((await askHistory(makeServer().fetch, span(1, 1))).oldest, Infinity);
});

test("a full list answers up to its last offset", async () => {
  const server = makeServer({ offsets: Array.from({ length: 500 }, (_, index) => index + 1) });

  const { listed, through } = await askHistory(server.fetch, span(2, 400));

  assert.equal(through, LIST_LIMIT);
  assert.deepEqual([listed[0], listed.length], [2, LIST_LIMIT - 1]);
});

for (const [what, fetch] of [
  ["an error of the server", makeServer({ status: 503 }).fetch],
  ["no connection", () => Promise.reject(new TypeError("Failed to fetch"))],
  ["something that is no JSON", async () => new Response("<html>")],
  ["something that is no position", makeServer({ position: "?" }).fetch],
]) {
  test(`${what} is no answer`, async () => {
    assert.equal(await askHistory(fetch, span(1, 2)), null);
    assert.equal(await askPosition(fetch), null);
  });
}

test("the history of another epoch is no answer about this one", async () => {
  assert.equal(await askHistory(makeServer({ position: "f.9", offsets: [1] }).fetch, span(1, 2)), null);
});

test("the position is where history stands, also when it is empty", async () => {
  assert.equal(await askPosition(makeServer({ position: "e.0" }).fetch), "e.0");
});
