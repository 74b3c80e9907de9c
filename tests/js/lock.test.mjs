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
