import assert from "node:assert/strict";
import test from "node:test";

import { openSocketIo } from "../../static/js/transports/socketio.js";
import { eventsUrl, openSse } from "../../static/js/transports/sse.js";
import { FakeTime, middle, notification } from "./fakes.mjs";

function makeLog() {
  const log = [];
  const events = {
    onOpen: (opened) => log.push(["open", opened]),
    onNotification: (received, receivedUs) => log.push(["notification", received.id, receivedUs]),
    onGap: (gap) => log.push(["gap", gap]),
    onDown: () => log.push(["down"]),
  };
  return { log, events };
}

class FakeEventSource extends EventTarget {
  static made = [];
  readyState = 0;

  constructor(url) {
    super();
    this.url = url;
    FakeEventSource.made.push(this);
  }
  close() {
    this.readyState = 2;
  }
  say(type, members = {}) {
    this.dispatchEvent(Object.assign(new Event(type), members));
  }
}

function openFakeSse(lastEventId = null) {
  FakeEventSource.made = [];
  const time = new FakeTime();
  const { log, events } = makeLog();
  const dependencies = { EventSource: FakeEventSource, ...time, random: middle };
  const stream = openSse({ lastEventId }, events, dependencies);
  return { stream, log, time, source: FakeEventSource.made[0] };
}

for (const [lastEventId, topics, url] of [
  [null, [], "/events"],
  ["e.7", [], "/events?last_event_id=e.7"],
  ["e.7", ["a", "b"], "/events?last_event_id=e.7&topic=a&topic=b"],
]) {
  test(`SSE asks for ${url}`, () => {
    assert.equal(eventsUrl(lastEventId, topics), url);
  });
}

test("SSE: what the browser reopens by itself has resumed", () => {
  const { source, log, time } = openFakeSse();
  source.say("open");
  source.say("error");
  time.now_us = 9000;
  source.say("open");

  assert.equal(FakeEventSource.made.length, 1);
  assert.deepEqual(
    log.map(([name, opened]) => [name, opened?.resumed, opened?.opened_client_us]),
    [
      ["open", false, 0],
      ["down", undefined, undefined],
      ["open", true, 9000],
    ],
  );
});

test("SSE: a stream that was given up is opened anew behind the last event", async () => {
  const { source, log, time } = openFakeSse();
  source.say("notification", { data: JSON.stringify(notification(7)), lastEventId: "e.7" });
  source.readyState = 2;
  source.say("error");

  await time.pass(1000);

  assert.deepEqual(log, [["notification", "e.7", 0], ["down"]]);
  assert.deepEqual(
    FakeEventSource.made.map(({ url }) => url),
    ["/events", "/events?last_event_id=e.7"],
  );
});

test("SSE: a stream that was closed stays closed", async () => {
  const { stream, source, time } = openFakeSse();
  source.readyState = 2;
  source.say("error");
  stream.close();

  await time.pass(60_000);

  assert.equal(FakeEventSource.made.length, 1);
});

/** As much of the official client as is used, driven by the test. */
function makeFakeIo() {
  const emitter = () => {
    const handlers = new Map();
    return {
      on: (event, handler) => handlers.set(event, handler),
      say: (event, ...values) => handlers.get(event)?.(...values),
    };
  };
  const manager = { ...emitter(), engine: { transport: { name: "websocket" } } };
  const socket = { ...emitter(), io: manager, active: true, connects: 0 };
  socket.connect = () => (socket.connects += 1);
  socket.disconnect = () => socket.say("disconnect", "io client disconnect");
  const io = (origin, options) => {
    socket.origin = origin;
    socket.options = options;
    return socket;
  };
  socket.open = (position) => {
    manager.say("packet", { type: 0, data: { sid: "s", position } });
    socket.say("connect");
  };
  socket.auth = () => {
    let payload;
    socket.options.auth((value) => (payload = value));
    return payload;
  };
  return { io, socket };
}

function openFakeSocketIo(wanted = { lastEventId: null }) {
  const time = new FakeTime();
  const { io, socket } = makeFakeIo();
  const { log, events } = makeLog();
  const stream = openSocketIo(wanted, events, { io, origin: "http://h", ...time, random: middle });
  return { stream, socket, log, time };
}

test("Socket.IO goes straight to the WebSocket unless told otherwise", () => {
  assert.deepEqual(openFakeSocketIo().socket.options.transports, ["websocket"]);
  const { socket } = openFakeSocketIo({ lastEventId: null, transports: ["polling", "websocket"] });
  assert.deepEqual(socket.options.transports, ["polling", "websocket"]);
});

test("Socket.IO: the position of CONNECT is told, and is where a reconnect resumes before any event", () => {
  const { socket, log } = openFakeSocketIo();
  assert.deepEqual(socket.auth(), {});
  socket.open("e.5");

  assert.deepEqual(socket.auth(), { last_event_id: "e.5" });
  socket.open("e.9");

  assert.deepEqual(
    log.map(([, opened]) => [opened.resumed, opened.position, opened.carrier]),
    [
      [false, "e.5", "websocket"],
      [true, "e.9", "websocket"],
    ],
  );
});

test("Socket.IO resumes behind the last event", () => {
  const { socket } = openFakeSocketIo({ lastEventId: "e.3", topics: ["a"] });
  assert.deepEqual(socket.auth(), { last_event_id: "e.3", topics: ["a"] });

  socket.say("notification", notification(8));
  assert.equal(socket.auth().last_event_id, "e.8");
  socket.say("gap", { from: 9, to: 12, reason: "expired", id: "e.12" });
  assert.equal(socket.auth().last_event_id, "e.12");
});

test("Socket.IO: a connection that the server ended is opened again, one that the client retries is not", async () => {
  const { socket, time } = openFakeSocketIo();

  socket.say("disconnect", "transport close");
  await time.pass(60_000);
  assert.equal(socket.connects, 1);
  socket.active = false;
  socket.say("disconnect", "io server disconnect");
  await time.pass(2000);

  assert.equal(socket.connects, 2);
});

test("Socket.IO: closing is no failure and opens nothing", async () => {
  const { stream, socket, log, time } = openFakeSocketIo();
  socket.active = false;
  stream.close();
  await time.pass(60_000);

  assert.deepEqual(log, []);
  assert.equal(socket.connects, 1);
});
