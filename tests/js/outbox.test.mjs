import assert from "node:assert/strict";
import test from "node:test";

import { PROBES_PER_BATCH_MAX, SAMPLES_BYTES_MAX, SAMPLES_PER_BATCH_MAX } from "../../static/js/batch.js";
import { GATHER_MS, Outbox, WAITING_MAX } from "../../static/js/outbox.js";
import { FakeTime, middle, sample } from "./fakes.mjs";

const CONTEXT = { run: null, trial: null, clock_channel: "websocket", timebase: "aa" };

function makeOutbox(answers = []) {
  const time = new FakeTime();
  const sent = [];
  const kept = [];
  let idCount = 0;
  const outbox = new Outbox({
    send: async (batch) => {
      sent.push(structuredClone(batch));
      return answers.shift() ?? "accepted";
    },
    keep: (state) => kept.push(structuredClone(state)),
    newBatchId: () => `batch-${(idCount += 1)}`,
    onChange: () => {},
    timers: time.timers,
    random: middle,
  });
  return { outbox, sent, time, kept };
}

test("samples that come within two seconds share a batch", async () => {
  const { outbox, sent, time } = makeOutbox();
  outbox.add(sample("e.1"), CONTEXT);
  outbox.add(sample("e.2"), CONTEXT);

  await time.pass(GATHER_MS);

  assert.deepEqual(sent, [{ ...CONTEXT, batch_id: "batch-1", samples: [sample("e.1"), sample("e.2")] }]);
  assert.deepEqual(outbox.status(), {
    sent_count: 2,
    waiting_count: 0,
    dropped_count: 0,
    refused_count: 0,
  });
});

test("a batch that met no answer is sent again with the same id and the same samples", async () => {
  const { outbox, sent, time } = makeOutbox(["retry", "retry"]);
  outbox.add(sample("e.1"), CONTEXT);
  await time.pass(GATHER_MS);
  outbox.add(sample("e.2"), CONTEXT);
  assert.equal(outbox.status().waiting_count, 2);

  await time.pass(60_000);

  assert.deepEqual(
    sent.map(({ batch_id, samples }) => [batch_id, samples.map(({ id }) => id)]),
    [
      ["batch-1", ["e.1"]],
      ["batch-1", ["e.1"]],
      ["batch-1", ["e.1"]],
      ["batch-2", ["e.2"]],
    ],
  );
  assert.equal(outbox.failedCount, 0);
});

test("the waits between tries grow and stay below half a minute", async () => {
  const { outbox, time } = makeOutbox(Array(8).fill("retry"));
  outbox.add(sample(), CONTEXT);
  await time.pass(GATHER_MS);
  const waits = [];

  while (time.waits_ms.length > 0) {
    waits.push(time.waits_ms[0]);
    await time.pass(time.waits_ms[0]);
  }

  assert.deepEqual(waits, [750, 1500, 3000, 6000, 12000, 22500, 22500, 22500]);
});

test("a batch that is refused for good is counted and does not hold up the next", async () => {
  const { outbox, sent, time } = makeOutbox(["refused"]);
  outbox.add(sample("e.1"), CONTEXT);
  outbox.add(sample("e.2"), { ...CONTEXT, timebase: "bb" });

  await time.pass(GATHER_MS);

  assert.equal(sent.length, 2);
  assert.equal(outbox.status().refused_count, 1);
  assert.equal(outbox.status().sent_count, 1);
});

test("at the limit the oldest waiting sample is dropped and counted", async () => {
  const { outbox, sent, time } = makeOutbox();
  for (let index = 1; index <= WAITING_MAX + 5; index += 1) outbox.add(sample(`e.${index}`), CONTEXT);

  assert.equal(outbox.status().dropped_count, 5);
  await time.pass(GATHER_MS);
  assert.equal(sent[0].samples[0].id, "e.6");
  assert.equal(outbox.status().sent_count, WAITING_MAX);
});

test("what is taken back counts towards the limit too", () => {
  const full = makeOutbox();
  for (let index = 1; index <= WAITING_MAX; index += 1) full.outbox.add(sample(`e.${index}`), CONTEXT);
  const { outbox, kept } = makeOutbox();
  outbox.add(sample("f.1"), CONTEXT);
  outbox.add(sample("f.2"), CONTEXT);

  outbox.restore(full.kept.at(-1));

  const { waiting } = kept.at(-1);
  assert.deepEqual([waiting.length, outbox.status().dropped_count], [WAITING_MAX, 2]);
  assert.deepEqual([waiting[0].sample.id, waiting.at(-1).sample.id], ["e.3", "f.2"]);
});

test("no batch exceeds what the server takes", async () => {
  const { outbox, sent } = makeOutbox();
  const long = { received_client_us: 123456789.12345678, clock_offset_us: 1795259201498773.2 };
  for (let index = 1; index <= 500; index += 1) outbox.add(sample(`e.${index}`, long), CONTEXT);

  await outbox.flush();

  assert.equal(sent.flatMap(({ samples }) => samples).length, 500);
  for (const batch of sent) {
    assert.ok(batch.samples.length <= SAMPLES_PER_BATCH_MAX);
    assert.ok(JSON.stringify(batch.samples).length <= SAMPLES_BYTES_MAX + 2);
    assert.ok(JSON.stringify({ device: "d".repeat(64), ...batch }).length <= 32_768);
  }
});

test("samples of two timebases never share a batch", async () => {
  const { outbox, sent } = makeOutbox();
  for (const timebase of ["aa", "aa", "bb", "aa"]) outbox.add(sample(), { ...CONTEXT, timebase });

  await outbox.flush();

  assert.deepEqual(
    sent.map((batch) => [batch.timebase, batch.samples.length]),
    [
      ["aa", 2],
      ["bb", 1],
      ["aa", 1],
    ],
  );
});

test("what waits is kept, with the id under which it goes out, until it has arrived", async () => {
  const { outbox, kept, time } = makeOutbox(["retry"]);
  outbox.add(sample("e.1"), CONTEXT);
  assert.deepEqual(kept.at(-1), { under_way: null, waiting: [{ sample: sample("e.1"), context: CONTEXT }] });
  await time.pass(GATHER_MS);
  assert.equal(kept.at(-1).under_way.batch_id, "batch-1");

  await time.pass(60_000);

  assert.deepEqual(kept.at(-1), { under_way: null, waiting: [] });
});

test("what a page before this one could not send goes out first, under its own id", async () => {
  const before = makeOutbox(["retry"]);
  before.outbox.add(sample("e.1"), CONTEXT);
  await before.time.pass(GATHER_MS);
  before.outbox.add(sample("e.2"), CONTEXT);
  const { outbox, sent, time } = makeOutbox();
  outbox.add(sample("e.3"), CONTEXT);

  outbox.restore(before.kept.at(-1));
  await time.pass(60_000);

  assert.deepEqual(
    sent.map(({ batch_id, samples }) => [batch_id, samples.map(({ id }) => id)]),
    [
      ["batch-1", ["e.1"]],
      ["batch-1", ["e.2", "e.3"]],
    ],
  );
});

test("how a phone behaved goes out behind its samples, in a batch without any", async () => {
  const { outbox, sent } = makeOutbox();
  const conduct = { disconnects: 1 };
  outbox.add(sample("e.1"), CONTEXT);
  outbox.addConduct(conduct, CONTEXT);
  outbox.add(sample("e.2"), CONTEXT);

  await outbox.flush();

  assert.deepEqual(
    sent.map(({ samples, conduct: said }) => [samples.length, said]),
    [
      [1, undefined],
      [0, conduct],
      [1, undefined],
    ],
  );
  assert.equal(outbox.status().sent_count, 2);
});

test("who waits for the outbox hears when everything has arrived, however often that was tried", async () => {
  const { outbox, time } = makeOutbox(["retry", "retry", "accepted"]);
  let isEmptied = false;
  outbox.add(sample("e.1"), CONTEXT);

  outbox.emptied().then(() => (isEmptied = true));
  await time.pass(1_000);
  assert.equal(isEmptied, false);
  await time.pass(60_000);

  assert.equal(isEmptied, true);
  await outbox.emptied();
});

test("probes go out behind the samples, in batches of one timebase that the server takes", async () => {
  const { outbox, sent, time } = makeOutbox();
  const stamps = [99, 999_999_999_999.9, 1_700_000_000_000_000.5, 1_700_000_000_000_000.5, 999_999_999_999.9];
  const probes = Array.from({ length: PROBES_PER_BATCH_MAX + 1 }, () => ({ timebase: "aa", stamps }));
  outbox.add(sample("e.1"), CONTEXT);
  outbox.addProbes([...probes, { timebase: "bb", stamps }], CONTEXT);

  await time.pass(GATHER_MS);

  assert.deepEqual(
    sent.map((batch) => [batch.timebase, batch.samples.length, batch.probes?.length]),
    [
      ["aa", 1, undefined],
      ["aa", 0, PROBES_PER_BATCH_MAX],
      ["aa", 0, 1],
      ["bb", 0, 1],
    ],
  );
  for (const batch of sent) assert.ok(JSON.stringify(batch).length < SAMPLES_BYTES_MAX);
});
