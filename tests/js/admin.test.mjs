import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { Api, failureWords } from "../../static/js/admin/api.js";
import { curlLine, mergeHistory, publishOf, receiversOf } from "../../static/js/admin/broadcast.js";
import { readHistory } from "../../static/js/admin/history.js";
import { clientCounts, countsFor, fieldsOf, isChanged, lengthS, planWith } from "../../static/js/admin/plan.js";
import { ReceiptFollower, receiptWords } from "../../static/js/admin/receipt.js";
import { comparisonPath, factsWords, verdictWords } from "../../static/js/admin/runs_view.js";
import { makeTranslate } from "../../static/js/texts.js";
import { FakeTime } from "./fakes.mjs";

const root = new URL("../../", import.meta.url);
const texts = Object.assign(
  {},
  ...["experiment", "admin"].map((part) =>
    JSON.parse(readFileSync(new URL(`static/i18n/en/${part}.json`, root), "utf8")),
  ),
);
const english = { t: makeTranslate(texts), language: "en" };

const answer = (data, status = 200) => ({ status, data, detail: "", code: "", retry_after_s: 0 });

const device = (members) => ({ device: "d-1", name: null, transport: "sse", topics: null, ...members });

const wanted = { title: "T", body: "B", topic: "default", target: "all" };

test("a target is one transport, the chosen devices, or left out for everyone", () => {
  assert.deepEqual(publishOf(wanted, ["d-1"]), { title: "T", body: "B", topic: "default" });
  assert.deepEqual(publishOf({ ...wanted, target: "sse" }, []).targets, { transport: "sse" });
  assert.deepEqual(publishOf({ ...wanted, target: "chosen" }, new Set(["d-1"])).targets, { devices: ["d-1"] });
});

test("receivers are those whose transport, topics and device fit", () => {
  const devices = [
    device({}),
    device({ device: "d-2", transport: "socketio" }),
    device({ device: "d-3", topics: ["news"] }),
    device({ device: null }),
  ];
  const count = (target, chosen = []) => receiversOf(devices, publishOf({ ...wanted, target }, chosen)).length;

  assert.deepEqual([count("all"), count("sse"), count("socketio"), count("chosen", ["d-2", "d-9"])], [3, 2, 1, 1]);
});

test("the curl line survives what a shell would take apart, and shows no token", () => {
  const line = curlLine("http://host:1", { title: "It's $HOME `now`", body: "a\nb", topic: "default" });

  assert.match(line, /Bearer \$SIAR_ADMIN_TOKEN"/);
  assert.match(line, /-d '\{"title":"It'\\''s \$HOME `now`","body":"a\\nb","topic":"default"\}'$/);
});

test("what this page sent to some stays in the list beside everybody's history, newest first", () => {
  const sent = (id, sent_us) => ({ ...wanted, id, sent_us });

  const merged = mergeHistory([sent("e.3", 3)], [sent("e.2", 2), sent("e.3", 3), sent("e.1", 1)]);

  assert.deepEqual(merged.map(({ id }) => id), ["e.3", "e.2", "e.1"]);
  const many = Array.from({ length: 50 }, (_, n) => sent(`e.${n}`, n));
  assert.equal(mergeHistory([], many).length, 20);
});

test("history looks further back only while it has found too little", async () => {
  const asked = [];
  const notifications = Array.from({ length: 25 }, (_, n) => ({ id: `e.${n}`, sent_us: n }));
  const ask = async (_method, path) => {
    asked.push(path);
    if (path.endsWith("limit=1")) return answer({ position: "e.5000", notifications: [] });
    return answer({ notifications: path.includes("after=4000") ? notifications : [] });
  };

  const found = await readHistory({ ask });

  assert.deepEqual(asked.slice(1).map((path) => path.match(/after=(\d+)/)[1]), ["4900", "4000"]);
  assert.deepEqual([found.length, found[0].id], [20, "e.24"]);
});

test("a look back that lists the oldest only does not take the place of a nearer one", async () => {
  const listed = [...Array.from({ length: 1500 }, (_, n) => n + 1), 9996, 9997, 9998];
  const ask = async (_method, path) => {
    const { searchParams } = new URL(path, "http://h");
    const [after, limit] = ["after", "limit"].map((name) => Number(searchParams.get(name)));
    const notifications = listed
      .filter((offset) => offset > after)
      .slice(0, limit)
      .map((offset) => ({ id: `e.${offset}`, sent_us: offset }));
    return answer({ position: "e.10000", notifications });
  };

  const found = await readHistory({ ask });

  assert.deepEqual(found.map(({ id }) => id), ["e.9998", "e.9997", "e.9996"]);
});

const receipt = (members) => ({ recipients_count: 6, delivered_count: 6, slowest: null, devices: [], ...members });
const slowest = { device: "d-0123456789abcdef", name: "Red Gecko", delay_ms: 14 };

for (const [what, followed, words] of [
  ["nobody was there", { receipt: receipt({ recipients_count: 0 }), is_over: true }, /Nobody was connected/],
  ["nobody has said anything yet", { receipt: receipt({ delivered_count: 0 }), is_over: false }, /Waiting/],
  ["nobody ever did", { receipt: receipt({ delivered_count: 0 }), is_over: true }, /None of them/],
  ["all have it", { receipt: receipt({ slowest }), is_over: true }, /^Delivered 6 of 6, slowest 14.0 ms \(\u2068Red Gecko\u2069\)$/],
  ["some have it", { receipt: receipt({ delivered_count: 5 }), is_over: false }, /^Delivered 5 of 6$/],
  ["some never said", { receipt: receipt({ delivered_count: 5 }), is_over: true }, /5 of 6. The others/],
  ["it has no name", { receipt: receipt({ slowest: { ...slowest, name: null } }), is_over: true }, /…abcdef/],
]) {
  test(`a receipt says when ${what}`, () => {
    assert.match(receiptWords(followed, english).replaceAll("\u00a0", " "), words);
  });
}

function follower(answers) {
  const time = new FakeTime();
  const heard = [];
  let asked = 0;
  const ask = async () => answers[Math.min(asked++, answers.length - 1)];
  const made = new ReceiptFollower({ api: { ask }, timers: time.timers, onFollowed: (each) => heard.push(each) });
  return { made, time, heard, asked: () => asked };
}

test("a receipt is followed until everybody has it", async () => {
  const { made, time, heard, asked } = follower([answer(receipt({ delivered_count: 2 })), answer(receipt())]);

  made.follow("e.1", 6);
  await time.pass(120_000);

  assert.equal(asked(), 2);
  assert.deepEqual(heard.map(({ receipt: each, is_over }) => [each.delivered_count, is_over]), [[0, false], [2, false], [6, true]]);
});

test("a receipt that never completes is given up, and asked for more and more slowly", async () => {
  const { made, time, heard, asked } = follower([answer(receipt({ delivered_count: 1 }))]);

  made.follow("e.1", 6);
  await time.pass(600_000);

  assert.ok(asked() > 10 && asked() < 30, String(asked()));
  assert.equal(heard.at(-1).is_over, true);
});

test("a newer broadcast ends the following of the older, and one to nobody asks nothing", async () => {
  const { made, time, heard, asked } = follower([answer(receipt())]);

  made.follow("e.1", 6);
  made.follow("e.2", 0);
  await time.pass(60_000);

  assert.equal(asked(), 0);
  assert.deepEqual(heard.at(-1), { receipt: receipt({ recipients_count: 0, delivered_count: 0 }), is_over: true });
});

const plan = {
  arms: [
    { name: "sse", transport: "sse", factors: {} },
    { name: "socketio", transport: "socketio", factors: {} },
  ],
  client_counts: [1, 3, 6],
  blocks: 8,
  notifications: 30,
  warmup_notifications: 5,
  rate_hz: 10,
  payload_bytes: 512,
  profile: "classroom",
};

test("a plan that nobody changed goes back as it came", () => {
  assert.deepEqual(planWith(plan, fieldsOf(plan)), plan);
  assert.equal(isChanged(plan, fieldsOf(plan)), false);
  const odd = { ...plan, rate_hz: 3, arms: [{ name: "polled", transport: "socketio", factors: { polling: true } }] };
  assert.deepEqual(planWith(odd, fieldsOf(odd)), odd);
});

test("fields change what they stand for and nothing else", () => {
  const fields = { ...fieldsOf(plan), gap_ms: 5000, blocks: 4, arms: "aa_sse", radio: "both" };

  const changed = planWith(plan, fields);

  assert.deepEqual([changed.rate_hz, changed.blocks, changed.payload_bytes], [0.2, 4, 512]);
  assert.deepEqual(changed.arms.map(({ name }) => name), [
    "sse.1, radio idle",
    "sse.1, radio warm",
    "sse.2, radio idle",
    "sse.2, radio warm",
  ]);
  assert.deepEqual(changed.arms[1].factors, { radio: "warm" });
  assert.equal(fieldsOf(changed).radio, "both");
  assert.equal(fieldsOf(changed).arms, "aa_sse");
});

for (const arms of ["both", "aa_sse", "aa_socketio", "polling", "compression", "sse", "socketio"]) {
  for (const radio of ["as_is", "warm", "both"]) {
    test(`arms "${arms}" with radio "${radio}" come back as they were chosen, under names of their own`, () => {
      const other = { ...plan, arms: [{ name: "x", transport: "sse", factors: { radio: "cold" } }] };

      const changed = planWith(other, { ...fieldsOf(other), arms, radio });

      assert.deepEqual([fieldsOf(changed).arms, fieldsOf(changed).radio], [arms, radio]);
      assert.equal(new Set(changed.arms.map(({ name }) => name)).size, changed.arms.length);
    });
  }
}

for (const [phones, counts] of [
  [1, [1]],
  [2, [1, 2]],
  [6, [1, 3, 6]],
  [9, [1, 5, 9]],
]) {
  test(`${phones} phones measure as ${counts.join(", ")}`, () => {
    assert.deepEqual(clientCounts(phones), counts);
  });
}

for (const [counts, phones, expected] of [
  [[6], 6, [6]],
  [[6], 4, [4]],
  [[1, 2, 6], 6, [1, 2, 6]],
  [[1, 3, 6], 9, [1, 5, 9]],
  [[1, 6], 1, [1]],
]) {
  test(`${counts.join(", ")} of six phones are ${expected.join(", ")} of ${phones}`, () => {
    assert.deepEqual(countsFor(counts, { phones, before: 6 }), expected);
  });
}

test("twice the blocks take twice as long, and the preset as long as the server says", () => {
  const preset = { id: "classroom", plan, length_s: 500 };

  assert.ok(Math.abs(lengthS(preset, plan) - 500) < 1e-9);
  assert.ok(Math.abs(lengthS(preset, { ...plan, blocks: 16 }) - 1000) < 1e-9);
});

test("a request carries the header that a foreign page cannot send and the page's language, and never throws", async () => {
  const seen = [];
  const fetch = async (path, request) => {
    seen.push([path, request.headers]);
    throw new TypeError("no network");
  };

  const got = await new Api(fetch, "id").ask("POST", "/api/links", { token: "secret" });

  assert.deepEqual(seen, [["/api/links", { "X-Siar": "1", "Accept-Language": "id", Authorization: "Bearer secret" }]]);
  assert.equal(got.status, 0);
  assert.match(failureWords(got, english), /does not answer/);
});

test("an answer that breaks off is no answer, whatever its status was", async () => {
  const pull = (to) => to.error(new TypeError("network error"));
  const fetch = async () => new Response(new ReadableStream({ pull }), { status: 200 });

  const got = await new Api(fetch, "en").ask("GET", "/api/room");

  assert.equal(got.status, 0);
});

test("what is no JSON, as a Wi-Fi's own page, is no answer to a question, and may be one to a deed", async () => {
  const api = new Api(async () => new Response("<html>"), "en");

  assert.equal((await api.ask("GET", "/api/room")).status, 0);
  assert.equal((await api.ask("DELETE", "/api/room")).status, 200);
});

test("a refusal is told in the server's words, with the wait where there is one", () => {
  const refused = { status: 409, data: null, detail: "No phone is ready yet.", code: "nobody_ready", retry_after_s: 0 };

  assert.match(failureWords(refused, english), /No phone is ready yet/);
  assert.match(failureWords({ ...refused, status: 429, retry_after_s: 7.2 }, english), /8 s/);
  assert.match(failureWords({ ...refused, status: 401 }, english), /Sign in again/);
});

test("a run's line says who measured, and its verdict in whatever form it has", () => {
  const run = { id: "r", started: null, state: "complete", profile: "classroom", simulated: false, phones: 6 };

  assert.equal(factsWords(run, english), "complete · classroom · phones: 6 · r");
  assert.match(factsWords({ ...run, simulated: true, phones: 0 }, english), /built-in clients/);
  assert.equal(verdictWords({ ...run, verdict: "same" }, english), "same");
  assert.equal(verdictWords({ ...run, verdict: { sentence_en: "same" } }, english), "same");
  assert.equal(verdictWords({ ...run, verdict: null }, english), "");
});

test("a comparison names its runs in their order and the page's language", () => {
  assert.equal(comparisonPath(["a-1", "b 2"], "id"), "/api/comparisons?run=a-1&run=b+2&lang=id");
});
