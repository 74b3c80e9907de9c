import assert from "node:assert/strict";
import test from "node:test";

import { ANSWER_TIMEOUT_MS, ClockChannel, OPEN_TIMEOUT_MS } from "../../static/js/clock_channel.js";
import { ClockKeeper } from "../../static/js/clock_keeper.js";
import { FakeTime, middle, settle } from "./fakes.mjs";

const STAMPS = { received_us: 500, sent_us: 600, timebase: "aa" };

/** A WebSocket that opens, fails or stays silent when the test says so. */
class FakeWebSocket {
  static made = [];
  readyState = 0;
  sent = [];

  constructor(url) {
    this.url = url;
    FakeWebSocket.made.push(this);
  }
  open() {
    this.readyState = 1;
    this.onopen();
  }
  fail() {
    this.readyState = 3;
    this.onerror();
    this.onclose();
  }
  send(text) {
    this.sent.push(JSON.parse(text));
  }
  answer(message) {
    this.onmessage({ data: JSON.stringify(message) });
  }
  close() {
    this.readyState = 3;
  }
}

function makeChannel({ port = 7001, WebSocket = FakeWebSocket, status = 200 } = {}) {
  FakeWebSocket.made = [];
  const time = new FakeTime();
  const fetch = async (path) => {
    assert.equal(path, "/api/clock");
    time.now_us += 1000;
    return Response.json(STAMPS, { status });
  };
  const channel = new ClockChannel({ port, hostname: "10.0.0.2", WebSocket, fetch, ...time });
  return { channel, time };
}

test("an open WebSocket answers, and the stamps are taken at the send and first thing at the answer", async () => {
  const { channel, time } = makeChannel();
  const opened = channel.open();
  const [socket] = FakeWebSocket.made;
  socket.open();
  await opened;
  time.now_us = 100;

  const answer = channel.probe();
  time.now_us = 1100;
  socket.answer({ probe: socket.sent[0].probe, ...STAMPS });

  assert.equal(socket.url, "ws://10.0.0.2:7001/");
  assert.equal(channel.kind, "websocket");
  assert.deepEqual(await answer, {
    probe: { t1_us: 100, t2_us: 500, t3_us: 600, t4_us: 1100 },
    timebase: "aa",
  });
});

test("answers are told apart by their number", async () => {
  const { channel, time } = makeChannel();
  channel.open();
  const [socket] = FakeWebSocket.made;
  socket.open();

  const [first, second] = [channel.probe(), channel.probe()];
  time.now_us = 10;
  socket.answer({ probe: socket.sent[1].probe, ...STAMPS, received_us: 2 });
  socket.answer({ probe: socket.sent[0].probe, ...STAMPS, received_us: 1 });

  assert.equal((await first).probe.t2_us, 1);
  assert.equal((await second).probe.t2_us, 2);
});

test("a WebSocket that stays silent is replaced by HTTP within a second", async () => {
  const { channel, time } = makeChannel();
  let isOpened = false;
  channel.open().then(() => (isOpened = true));

  await time.pass(OPEN_TIMEOUT_MS - 1);
  assert.equal(isOpened, false);
  await time.pass(1);
  assert.equal(isOpened, true);

  assert.ok(OPEN_TIMEOUT_MS < 1000);
  assert.equal(channel.kind, "http");
  assert.equal((await channel.probe()).timebase, "aa");
});

test("a port that is closed is replaced at once", async () => {
  const { channel } = makeChannel();
  const opened = channel.open();

  FakeWebSocket.made[0].fail();
  await opened;

  assert.equal(channel.kind, "http");
});

test("a browser that refuses the WebSocket, as on https, uses HTTP", async () => {
  class Refusing {
    constructor() {
      throw new DOMException("mixed content", "SecurityError");
    }
  }
  const { channel } = makeChannel({ WebSocket: Refusing });

  await channel.open();

  assert.equal(channel.kind, "http");
});

test("without a clock port nothing but HTTP is tried", async () => {
  const { channel } = makeChannel({ port: null });

  await channel.open();

  assert.equal(FakeWebSocket.made.length, 0);
  assert.equal(channel.kind, "http");
});

test("a probe without an answer ends", async () => {
  const { channel, time } = makeChannel();
  channel.open();
  FakeWebSocket.made[0].open();
  const answer = channel.probe();

  await time.pass(ANSWER_TIMEOUT_MS);

  assert.equal(await answer, null);
});

test("an error of the server is no answer", async () => {
  const { channel } = makeChannel({ port: null, status: 503 });

  assert.equal(await channel.probe(), null);
});

/** A channel whose path takes 1 ms each way and whose server's clock is 5 s ahead. */
function makeKeeper({ isAway = false } = {}) {
  const time = new FakeTime();
  const bursts = [];
  const asked = [];
  const channel = {
    kind: "websocket",
    open: async () => {},
    close() {
      this.kind = "http";
    },
    probe: async () => {
      asked.push(time.now_us);
      if (isAway) return null;
      const t1_us = time.now_us;
      const t2_us = t1_us + 1000 + 5_000_000;
      return { probe: { t1_us, t2_us, t3_us: t2_us, t4_us: t1_us + 2000 }, timebase: "aa" };
    },
  };
  const keeper = new ClockKeeper(channel, {
    ...time,
    random: middle,
    onBurst: (startUs) => bursts.push(startUs),
  });
  return { keeper, time, bursts, asked, channel };
}

test("32 probes at the start, 8 every five seconds, 16 at the end", async () => {
  const { keeper, time, bursts, asked } = makeKeeper();

  keeper.start();
  await time.pass(2000);
  assert.equal(asked.length, 32);
  await time.pass(5000);
  assert.equal(asked.length, 40);
  keeper.finish();
  await time.pass(1000);
  assert.equal(asked.length, 56);
  await time.pass(60_000);
  assert.equal(asked.length, 56);

  assert.equal(bursts.length, 3);
});

test("the offset is found within its bound, and the channel is still named after the end", async () => {
  const { keeper, time } = makeKeeper();
  assert.equal(keeper.status().state, "waiting");
  keeper.start();
  await time.pass(2000);

  const { offset_us, bound_us, state, channel } = keeper.status();
  keeper.finish();
  await time.pass(1000);

  assert.equal(state, "ok");
  assert.ok(Math.abs(offset_us - 5_000_000) <= bound_us);
  assert.equal(channel, "websocket");
  assert.equal(keeper.kind, "websocket");
  assert.equal(keeper.timebaseAt(time.now_us), "aa");
});

test("a clock that does not answer is silent, and is not asked 32 times over HTTP", async () => {
  const { keeper, time, channel, asked } = makeKeeper({ isAway: true });
  channel.kind = "http";

  keeper.start();
  await time.pass(2000);

  assert.equal(keeper.isSilent, true);
  assert.equal(asked.length, 1);
});

test("a page that is back opens a new segment and asks at once", async () => {
  const { keeper, time, asked } = makeKeeper();
  keeper.start();
  await time.pass(1500);

  time.now_us += 60_000_000;
  keeper.wake();
  assert.equal(keeper.read(time.now_us).state, "epoch_break");
  await time.pass(500);
  await settle();

  assert.equal(asked.length, 40);
  assert.equal(keeper.read(time.now_us, { live: true }).state, "ok");
});
