import assert from "node:assert/strict";
import test from "node:test";

import { Listening } from "../../static/js/listening.js";
import { settle } from "./fakes.mjs";

/** Sessions that do nothing but say whether they are on. */
function makeListening() {
  const sessions = [];
  const listening = new Listening(async (choice) => {
    const session = {
      choice,
      isOn: true,
      isStarted: false,
      start: () => (session.isStarted = true),
      stop: () => (session.isOn = false),
    };
    sessions.push(session);
    return session;
  });
  const heard = () => sessions.filter(({ isOn, isStarted }) => isOn && isStarted).map(({ choice }) => choice);
  return { listening, sessions, heard };
}

const idle = { step: "in", isIdle: true };
const measuring = { step: "in", isIdle: false };
const out = { step: "out", isIdle: false };

test("a phone that waits in a room listens, once", async () => {
  const { listening, heard } = makeListening();
  for (let turn = 0; turn < 3; turn += 1) listening.follow(idle);
  await settle();
  listening.follow(idle);

  assert.deepEqual(heard(), ["sse"]);
});

test("it stops before a trial, and listens again behind the last one", async () => {
  const { listening, heard } = makeListening();
  listening.follow(idle);
  await settle();

  listening.interrupt();
  listening.follow(measuring);
  assert.deepEqual(heard(), []);
  listening.follow(idle);
  await settle();

  assert.deepEqual(heard(), ["sse"]);
});

test("a session whose code comes when a trial has begun never starts", async () => {
  const { listening, heard, sessions } = makeListening();
  listening.follow(idle);
  listening.interrupt();
  await settle();

  assert.deepEqual(heard(), []);
  assert.deepEqual(
    sessions.map(({ isOn }) => isOn),
    [false],
  );
});

test("a phone that leaves stops listening, unless its person had begun it", async () => {
  const { listening, heard } = makeListening();
  listening.follow(idle);
  await settle();
  listening.follow(out);
  assert.deepEqual(heard(), []);

  await listening.start("socketio");
  listening.follow(idle);
  listening.interrupt();
  listening.follow(out);
  await settle();

  assert.deepEqual(heard(), ["socketio"]);
});
