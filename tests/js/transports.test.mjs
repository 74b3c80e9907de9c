import assert from "node:assert/strict";
import test from "node:test";

import { openSocketIo } from "../../static/js/transports/socketio.js";
import { eventsUrl, openSse } from "../../static/js/transports/sse.js";
import { FakeTime, middle, notification, settle } from "./fakes.mjs";

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

async function openFakeSse({ lastEventId = null, position = null } = {}) {
  FakeEventSource.made = [];
  const time = new FakeTime();
  const { log, events } = makeLog();
  const server = { position, asked: 0 };
  const askPosition = async () => {
    server.asked += 1;
    return server.position;
  };
  const dependencies = { EventSource: FakeEventSource, askPosition, ...time, random: middle };
  const stream = openSse({ lastEventId }, events, dependencies);
  await settle();
  return { stream, log, time, server, source: FakeEventSource.made[0] };
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

test("SSE asks for topic and position also in a browser whose queries do not tell their size", (t) => {
  const size = Object.getOwnPropertyDescriptor(URLSearchParams.prototype, "size");
  delete URLSearchParams.prototype.size;
  t.after(() => size && Object.defineProperty(URLSearchParams.prototype, "size", size));

  assert.equal(eventsUrl("e.7", ["a"]), "/events?last_event_id=e.7&topic=a");
});

const urlsMade = () => FakeEventSource.made.map(({ url }) => url);

/** As the browser does behind an answer that is an error, such as 503. */
function giveUp(source) {
  source.readyState = 2;
  source.say("error");
}

test("SSE: what the browser reopens by itself has resumed", async () => {
  const { source, log, time } = await openFakeSse();
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
  const { source, log, time } = await openFakeSse({ position: "e.6" });
  source.say("notification", { data: JSON.stringify(notification(7)), lastEventId: "e.7" });
  giveUp(source);

  await time.pass(1000);

  assert.deepEqual(log, [["notification", "e.7", 0], ["down"]]);
  assert.deepEqual(urlsMade(), ["/events", "/events?last_event_id=e.7"]);
});

for (const hasOpened of [true, false]) {
  const when = hasOpened ? "before its first event" : "before it opened";
  test(`SSE: a stream that was given up ${when} resumes from where history stood before it`, async () => {
    const { source, log, time, server } = await openFakeSse({ position: "e.6" });
    if (hasOpened) source.say("open");
    server.position = "e.8";
    giveUp(source);
    await time.pass(1000);
    FakeEventSource.made[1].say("open");

    assert.deepEqual(urlsMade(), ["/events", "/events?last_event_id=e.6"]);
    assert.equal(server.asked, 1);
    const [, opened] = log.at(-1);
    // What it brings may have waited for it.
    assert.deepEqual([opened.resumed, opened.resumes_from], [true, "e.6"]);
  });
}

test("SSE: the first try names no position but the one that it was given", async () => {
  const { source, log, server } = await openFakeSse({ lastEventId: "e.3", position: "e.6" });
  source.say("open");

  assert.deepEqual(urlsMade(), ["/events?last_event_id=e.3"]);
  assert.equal(server.asked, 0);
  assert.deepEqual([log[0][1].resumed, log[0][1].resumes_from], [true, "e.3"]);
});

test("SSE: a server that does not tell where it stands is asked again before each new stream", async () => {
  const { source, time, server } = await openFakeSse();
  giveUp(source);
  await time.pass(1000);
  server.position = "e.9";
  giveUp(FakeEventSource.made[1]);
  await time.pass(2000);

  assert.deepEqual(urlsMade(), ["/events", "/events", "/events?last_event_id=e.9"]);
});

test("SSE: a stream that is closed while history is asked never opens", async () => {
  FakeEventSource.made = [];
  const { events } = makeLog();
  const dependencies = { EventSource: FakeEventSource, askPosition: async () => "e.1", ...new FakeTime() };
  openSse({ lastEventId: null }, events, { ...dependencies, random: middle }).close();
  await settle();

  assert.deepEqual(urlsMade(), []);
});

test("SSE: a stream that was closed stays closed", async () => {
  const { stream, source, time } = await openFakeSse();
  giveUp(source);
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
