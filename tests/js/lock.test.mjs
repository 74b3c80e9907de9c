import assert from "node:assert/strict";
import test from "node:test";

import { ANSWER_WAIT_MS, StreamLock } from "../../static/js/lock.js";
import { FakeTime } from "./fakes.mjs";

/** Tabs of one browser: what one says, all others hear. */
function makeTabs(...names) {
  const time = new FakeTime();
  const channels = names.map(() => ({ onmessage: null }));
  for (const own of channels) {
    own.postMessage = (data) => {
      for (const other of channels) if (other !== own) other.onmessage({ data });
    };
  }
  const tabs = channels.map((channel, index) => new StreamLock(channel, names[index], time.timers));
  return { tabs, time };
}

test("a tab on its own gets the stream", async () => {
  const { tabs, time } = makeTabs("a");
  const granted = tabs[0].claim();

  await time.pass(ANSWER_WAIT_MS);

  assert.equal(await granted, true);
});

test("a second tab is refused for as long as the first one has the stream", async () => {
  const { tabs, time } = makeTabs("b", "a");
  tabs[0].claim();
  await time.pass(ANSWER_WAIT_MS);

  assert.equal(await tabs[1].claim(), false);
  tabs[0].release();
  const again = tabs[1].claim();
  await time.pass(ANSWER_WAIT_MS);

  assert.equal(await again, true);
});

test("a tab that was frozen has the stream again, unless another one has taken it meanwhile", async () => {
  for (const isTaken of [false, true]) {
    const { tabs, time } = makeTabs("a", "b");
    tabs[0].claim();
    await time.pass(ANSWER_WAIT_MS);

    tabs[0].sleep();
    tabs[0].sleep();
    if (isTaken) tabs[1].claim();
    await time.pass(ANSWER_WAIT_MS);
    const woken = tabs[0].wake();
    await time.pass(ANSWER_WAIT_MS);

    assert.equal(await woken, !isTaken);
    assert.deepEqual(
      tabs.map((tab) => tab.isHeld),
      [!isTaken, isTaken],
    );
  }
});

test("a tab that had no stream when it was frozen asks for none, and may go on", async () => {
  const { tabs, time } = makeTabs("a", "b");
  tabs[1].claim();
  await time.pass(ANSWER_WAIT_MS);

  tabs[0].sleep();

  assert.equal(await tabs[0].wake(), true);
  assert.deepEqual(
    tabs.map((tab) => tab.isHeld),
    [false, true],
  );
});

for (const [first, second, apart_ms] of [
  ["a", "b", 0],
  ["b", "a", 0],
  ["a", "b", 100],
  ["b", "a", 100],
]) {
  test(`${first}, and ${second} ${apart_ms} ms later: of two that ask exactly one gets the stream`, async () => {
    const { tabs, time } = makeTabs(first, second);
    const earlier = tabs[0].claim();
    await time.pass(apart_ms);
    const later = tabs[1].claim();

    await time.pass(ANSWER_WAIT_MS);

    assert.deepEqual([await earlier, await later], [first === "a", second === "a"]);
  });
}
