import assert from "node:assert/strict";
import test from "node:test";

import { sendBatch } from "../../static/js/deliveries.js";
import { DeviceClient } from "../../static/js/device_client.js";

const BATCH = { batch_id: "batch-one", samples: [] };
const IDENTITY = { device: "d-1", token: "t-1" };

/** A server that gives out `d-new` and answers everything else with the statuses in turn. */
function makeDevice(statuses, identity = IDENTITY) {
  const requests = [];
  const kept = [];
  const fetch = async (path, { headers, body }) => {
    requests.push({ path, token: headers.Authorization ?? null, body: body && JSON.parse(body) });
    if (path === "/api/devices") return Response.json({ device: "d-new", token: "t-new" }, { status: 201 });
    const status = statuses.shift();
    if (status === "unreachable") throw new TypeError("Failed to fetch");
    return new Response(null, { status });
  };
  const device = new DeviceClient({ fetch, identity, onIdentity: (found) => kept.push(found) });
  return { device, requests, kept };
}

for (const [status, result] of [
  [200, "accepted"],
  [400, "refused"],
  [404, "refused"],
  [413, "refused"],
  [403, "retry"],
  [408, "retry"],
  [429, "retry"],
  [500, "retry"],
  [507, "retry"],
  ["unreachable", "retry"],
]) {
  test(`${status} means ${result}`, async () => {
    const { device } = makeDevice([status]);

    assert.equal(await sendBatch(device, BATCH), result);
  });
}

test("a device without an identity gets one, keeps it, and posts in its name", async () => {
  const { device, requests, kept } = makeDevice([200], null);

  await sendBatch(device, BATCH);

  assert.deepEqual(kept, [{ device: "d-new", token: "t-new" }]);
  assert.deepEqual(requests[1], {
    path: "/api/deliveries",
    token: "Bearer d-new.t-new",
    body: { device: "d-new", ...BATCH },
  });
});

test("a server that has forgotten the device gives it a new identity, and gets the batch under that", async () => {
  const { device, requests } = makeDevice([401, 200]);

  assert.equal(await sendBatch(device, BATCH), "accepted");

  assert.deepEqual(
    requests.map(({ path, token }) => [path, token]),
    [
      ["/api/deliveries", "Bearer d-1.t-1"],
      ["/api/devices", null],
      ["/api/deliveries", "Bearer d-new.t-new"],
    ],
  );
  assert.deepEqual(requests[2].body, { device: "d-new", ...BATCH });
});

test("a device that is refused twice is not asked for a third time", async () => {
  const { device, requests } = makeDevice([401, 401]);

  assert.equal(await sendBatch(device, BATCH), "retry");

  assert.equal(requests.length, 3);
});

test("an answer that is no JSON is an answer without a body", async () => {
  const { device } = makeDevice([204]);

  assert.deepEqual(await device.request("GET", "/api/assignment"), { status: 204, body: null });
});
