import assert from "node:assert/strict";
import test from "node:test";

import { DeliveriesClient } from "../../static/js/deliveries.js";

const BATCH = { batch_id: "batch-one", samples: [] };
const IDENTITY = { device: "d-1", token: "t-1" };

/** A server that gives out `d-new` and answers batches with the statuses in turn. */
function makeClient(statuses, identity = IDENTITY) {
  const requests = [];
  const kept = [];
  const fetch = async (path, { headers, body }) => {
    requests.push({ path, token: headers.Authorization ?? null, body: JSON.parse(body) });
    if (path === "/api/devices") return Response.json({ device: "d-new", token: "t-new" }, { status: 201 });
    const status = statuses.shift();
    if (status === "unreachable") throw new TypeError("Failed to fetch");
    return new Response(null, { status });
  };
  const client = new DeliveriesClient({ fetch, identity, onIdentity: (found) => kept.push(found) });
  return { client, requests, kept };
}

for (const [status, result] of [
  [200, "accepted"],
  [400, "refused"],
  [404, "refused"],
  [413, "refused"],
  [408, "retry"],
  [429, "retry"],
  [500, "retry"],
  [507, "retry"],
  ["unreachable", "retry"],
]) {
  test(`${status} means ${result}`, async () => {
    const { client } = makeClient([status]);

    assert.equal(await client.send(BATCH), result);
  });
}

test("a device without an identity gets one, keeps it, and posts in its name", async () => {
  const { client, requests, kept } = makeClient([200], null);

  await client.send(BATCH);

  assert.deepEqual(kept, [{ device: "d-new", token: "t-new" }]);
  assert.deepEqual(requests[1], {
    path: "/api/deliveries",
    token: "Bearer t-new",
    body: { device: "d-new", ...BATCH },
  });
});

test("a server that has forgotten the device is asked for a new identity, and gets the batch again", async () => {
  const { client, requests } = makeClient([401, 200]);

  assert.equal(await client.send(BATCH), "retry");
  assert.equal(await client.send(BATCH), "accepted");
  assert.equal(requests.at(-1).token, "Bearer t-new");
  assert.equal(requests.at(-1).body.batch_id, BATCH.batch_id);
});
