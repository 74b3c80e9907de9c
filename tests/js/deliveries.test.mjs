import assert from "node:assert/strict";
import test from "node:test";

import { sendBatch } from "../../static/js/deliveries.js";
import { DeviceClient } from "../../static/js/device_client.js";
import { settle } from "./fakes.mjs";

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

test("requests at the same time of a device without an identity are one device's", async () => {
  const { device, requests, kept } = makeDevice([200, 200, 200], null);

  await Promise.all([
    sendBatch(device, BATCH),
    device.request("POST", "/api/assignment", {}),
    device.register(),
    device.request("GET", "/api/assignment"),
  ]);

  assert.equal(requests.filter(({ path }) => path === "/api/devices").length, 1);
  assert.equal(kept.length, 1);
});

test("requests at the same time that a server does not know the device by give it one new identity", async () => {
  let given = 0;
  const refused = [];
  const fetch = async (path, { headers }) => {
    if (path === "/api/devices")
      return Response.json({ device: `d-${(given += 1)}`, token: "t" }, { status: 201 });
    if (headers.Authorization !== "Bearer d-old.t") return new Response(null, { status: 200 });
    return new Promise((resolve) => refused.push(() => resolve(new Response(null, { status: 401 }))));
  };
  const device = new DeviceClient({
    fetch,
    identity: { device: "d-old", token: "t" },
    onIdentity: () => {},
  });

  const first = device.request("POST", "/api/assignment", {});
  const second = sendBatch(device, BATCH);
  await settle();
  refused[0]();
  assert.equal((await first).status, 200);
  refused[1]();

  assert.equal(await second, "accepted");
  assert.deepEqual([given, device.identity?.device], [1, "d-1"]);
});

/** Page and worker of one phone, which the server knows by no name; between them are only messages. */
function makePageAndWorker(identity) {
  const world = { given: 0 };
  const fetch = async (path, { headers }) => {
    if (path === "/api/devices")
      return Response.json({ device: `d-${(world.given += 1)}`, token: "t" }, { status: 201 });
    return new Response(null, { status: headers.Authorization === "Bearer d-old.t" ? 401 : 200 });
  };
  const page = new DeviceClient({ fetch, identity, onIdentity: () => {} });
  const worker = new DeviceClient({
    fetch,
    identity: structuredClone(identity),
    obtain: async (stale) => structuredClone(await page.renew(structuredClone(stale))),
  });
  return { page, worker, world };
}

for (const [who, identity] of [
  ["whom the server has forgotten", { device: "d-old", token: "t" }],
  ["who are new", null],
]) {
  test(`page and worker ${who} ask at the same time, and are one device`, async () => {
    const { page, worker, world } = makePageAndWorker(identity);

    const answers = await Promise.all([
      worker.request("POST", "/api/assignment", {}),
      page.request("DELETE", "/api/deliveries"),
      sendBatch(worker, BATCH),
    ]);

    assert.deepEqual(
      answers.map((answer) => answer.status ?? answer),
      [200, 200, "accepted"],
    );
    assert.equal(world.given, 1);
    assert.deepEqual([page.identity?.device, worker.identity?.device], ["d-1", "d-1"]);
  });
}

test("what the page has learned alone the worker takes over, asked or told", async () => {
  const { page, worker, world } = makePageAndWorker({ device: "d-old", token: "t" });

  await page.request("GET", "/api/assignment");
  await worker.request("POST", "/api/assignment", {});
  assert.deepEqual([world.given, worker.identity?.device], [1, "d-1"]);
  worker.take({ device: "d-told", token: "t" });
  worker.take(null);

  assert.equal(worker.identity?.device, "d-told");
});

test("a registration that met no answer is tried again", async () => {
  const answers = [
    new TypeError("Failed to fetch"),
    Response.json({ device: "d", token: "t" }, { status: 201 }),
  ];
  const fetch = async () => {
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const device = new DeviceClient({ fetch, identity: null, onIdentity: () => {} });

  assert.equal(await device.register(), null);
  assert.deepEqual(await device.register(), { device: "d", token: "t" });
});

test("a device that is refused twice is not asked for a third time", async () => {
  const { device, requests } = makeDevice([401, 401]);

  assert.equal(await sendBatch(device, BATCH), "retry");

  assert.equal(requests.length, 3);
});

test("a device asks in the language of its page, where that is known, and registers in it", async () => {
  const asked = [];
  const fetch = async (path, { headers }) => {
    asked.push([path, headers["Accept-Language"]]);
    return Response.json({ device: "d", token: "t" }, { status: 201 });
  };

  for (const language of ["id", undefined])
    await new DeviceClient({ fetch, identity: null, language }).request("GET", "/api/assignment");

  assert.deepEqual(asked, [
    ["/api/devices", "id"],
    ["/api/assignment", "id"],
    ["/api/devices", undefined],
    ["/api/assignment", undefined],
  ]);
});

test("an answer that is no JSON is an answer without a body", async () => {
  const { device } = makeDevice([204]);

  assert.deepEqual(await device.request("GET", "/api/assignment"), { status: 204, body: null });
});

/** An answer whose headers come, and which breaks off in its body. */
function cut(status) {
  const pull = (to) => to.error(new TypeError("network error"));
  return new Response(new ReadableStream({ pull }), { status });
}

test("an answer that breaks off is no answer, whatever its status was", async () => {
  const device = new DeviceClient({ fetch: async () => cut(200), identity: IDENTITY });

  assert.deepEqual(await device.request("GET", "/api/assignment"), { status: 0, body: null });
});

test("a registration whose answer breaks off is tried again", async () => {
  const answers = [cut(201), Response.json({ device: "d", token: "t" }, { status: 201 })];
  const device = new DeviceClient({ fetch: async () => answers.shift(), identity: null });

  assert.equal(await device.register(), null);
  assert.deepEqual(await device.register(), { device: "d", token: "t" });
});
