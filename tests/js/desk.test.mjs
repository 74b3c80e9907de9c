import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { Desk } from "../../static/js/admin/desk.js";
import { makeTranslate } from "../../static/js/texts.js";
import { FakeTime } from "./fakes.mjs";

const texts = ["experiment", "admin"].map((part) =>
  JSON.parse(readFileSync(new URL(`../../static/i18n/en/${part}.json`, import.meta.url), "utf8")),
);
const speech = { t: makeTranslate(Object.assign({}, ...texts)), language: "en" };

const ROOM = { phase: "closed", run: null, trial: null, participants: [], server_us: 0, wanted_count: 0 };
const TRIAL = { state: "running", ends_us: 1_000_000 };

const good = (data = {}, status = 200) => ({ status, data, detail: "", code: "", retry_after_s: 0 });
const bad = (status, detail = "no") => ({ status, data: { detail }, detail, retry_after_s: 0 });

const NOTHING_KNOWN = {
  "GET /api/notifications?limit=1": good({ position: "e.0", notifications: [] }),
  "GET /api/notifications?after=0&limit=1000": good({ position: "e.0", notifications: [] }),
  "GET /api/presets?phones=6": good([]),
};

/** A desk whose server answers as `server` says, by "METHOD path"; what it does not say is good and empty. */
function makeDesk(server = {}, { yes = true } = {}) {
  const time = new FakeTime();
  const [asked, questions] = [[], []];
  const ask = async (method, path, { body } = {}) => {
    const line = `${method} ${path}`;
    asked.push(body === undefined ? line : [line, body]);
    const answer = server[line] ?? NOTHING_KNOWN[line];
    return (typeof answer === "function" ? answer(body) : answer) ?? good();
  };
  const question = async (text) => {
    questions.push(text);
    return yes;
  };
  const desk = new Desk({
    api: { ask },
    speech,
    clock: { onAnswer: () => {} },
    timers: time.timers,
    nowUs: time.nowUs,
    isHidden: () => false,
    question,
    onChange: () => {},
  });
  const lines = () => asked.map((each) => (Array.isArray(each) ? each[0] : each));
  return { desk, time, asked, lines, questions };
}

test("a one-time link is spent once, and not at all by who is signed in already", async () => {
  const link = makeDesk();
  await link.desk.arrive("key", false);
  assert.deepEqual([link.desk.state.session, link.asked[0]], ["in", ["POST /api/sessions", { key: "key" }]]);

  const signedIn = makeDesk();
  await signedIn.desk.arrive("key", true);
  assert.ok(!signedIn.lines().includes("POST /api/sessions"));

  const nobody = makeDesk();
  await nobody.desk.arrive(null, false);
  assert.deepEqual([nobody.desk.state.session, nobody.asked.length], ["out", 0]);
});

for (const [what, answer, words] of [
  ["was used", bad(403, "This link was used before."), /used before/],
  ["comes over plain http", { ...bad(403, "over HTTPS only"), code: "admin_over_http" }, /over HTTPS only/],
  ["comes after many wrong ones", { ...bad(429), retry_after_s: 9 }, /Wait 9 s/],
  ["meets no server", bad(0), /does not answer/],
]) {
  test(`a link that ${what} leaves the page at the door, with the reason`, async () => {
    const { desk } = makeDesk({ "POST /api/sessions": answer });

    await desk.arrive("key", false);

    assert.equal(desk.state.session, "out");
    assert.match(desk.state.sign_in_problem, words);
  });
}

test("who signs out leaves no broadcast on the page, and nothing is asked about the last one any more", async () => {
  const receipt = good({ recipients_count: 1, delivered_count: 0, slowest: null, devices: [] });
  const { desk, time, lines } = makeDesk({
    "POST /api/notifications": good({ ...SENT, recipients: { sse: 1, socketio: 0 } }, 201),
    "GET /api/notifications/e.1/receipt": receipt,
  });
  await desk.arrive(null, true);
  await desk.broadcast({ title: "T", body: "B", topic: "default" });
  await time.pass(400);
  assert.ok(lines().includes("GET /api/notifications/e.1/receipt"));

  await desk.signOut();
  const before = lines().length;
  await time.pass(60_000);

  assert.deepEqual([desk.state.history, desk.state.followed], [[], null]);
  assert.equal(lines().length, before);
});

test("in a trial nothing is asked about devices and runs", async () => {
  const { desk, lines } = makeDesk({ "GET /api/room": good({ ...ROOM, phase: "running", trial: TRIAL }) });
  await desk.readRoom();

  assert.equal(await desk.readDevices(), true);
  assert.equal(await desk.readRuns(), true);

  assert.deepEqual(lines(), ["GET /api/room"]);
});

test("self-tests are asked for while somebody looks at them, and never in a trial", async () => {
  const server = { "GET /api/selftests": good({ records: [] }), "GET /api/room": good(ROOM) };
  const { desk, lines } = makeDesk(server);
  await desk.readSelfTests();
  assert.deepEqual([lines(), desk.state.self_tests], [[], null]);

  desk.showSelfTests(true);
  await desk.readSelfTests();
  assert.deepEqual([lines(), desk.state.self_tests], [["GET /api/selftests"], []]);

  server["GET /api/room"] = good({ ...ROOM, phase: "running", trial: TRIAL });
  await desk.readRoom();
  assert.equal(await desk.readSelfTests(), true);
  desk.showSelfTests(false);
  server["GET /api/room"] = good(ROOM);
  await desk.readRoom();
  await desk.readSelfTests();
  assert.deepEqual(lines(), ["GET /api/selftests", "GET /api/room", "GET /api/room"]);
});

test("while built-in clients measure, only whether they have ended is asked", async () => {
  const runs = [{ id: "r", state: "running" }];
  const { desk, lines } = makeDesk({ "GET /api/room": good(ROOM), "GET /api/runs": good(runs) });
  await desk.readRoom();
  await desk.readRuns();

  await desk.readDevices();
  await desk.readRuns();

  assert.deepEqual(lines(), ["GET /api/room", "GET /api/runs", "GET /api/runs"]);
});

test("a session that is over leads back to the door and stops the asking", async () => {
  const { desk } = makeDesk({ "GET /api/room": bad(401) });
  const sessions = [];
  desk.onSession = (isIn) => sessions.push(isIn);

  await desk.readRoom();

  assert.deepEqual([desk.state.session, sessions], ["out", [false]]);
  assert.match(desk.state.sign_in_problem, /Sign in again/);
});

test("a broadcast into a trial is forced only by who says so", async () => {
  const publish = { title: "T", body: "B", topic: "default" };
  const server = { "POST /api/notifications": ({ force }) => (force ? good(SENT, 201) : bad(409)) };

  const sure = makeDesk(server);
  await sure.desk.broadcast(publish);
  assert.deepEqual(sure.asked.map(([, body]) => body.force), [undefined, true]);
  assert.match(sure.questions[0], /measuring/);
  assert.equal(sure.desk.state.history[0].id, "e.1");

  const unsure = makeDesk(server, { yes: false });
  await unsure.desk.broadcast(publish);
  assert.equal(unsure.asked.length, 1);
});

const SENT = { id: "e.1", sent_us: 1, recipients: { sse: 0, socketio: 0 } };

test("above twenty receivers the page asks, and to twenty it does not", async () => {
  for (const [count, questionCount] of [[20, 0], [21, 1]]) {
    const devices = Array.from({ length: count }, (_, n) => ({ device: `d-${n}`, transport: "sse", topics: null }));
    const server = { "GET /api/devices": good({ devices }), "POST /api/notifications": good(SENT, 201) };
    const { desk, questions } = makeDesk(server);
    await desk.readDevices();

    await desk.broadcast({ title: "T", body: "", topic: "default" });

    assert.equal(questions.length, questionCount);
  }
});

test("an experiment whose runner ends before it begins says the runner's last words", async () => {
  const runner = { state: "ended", exit_code: 3, phones: 6, last_words: "starting\nThe clock channel is silent.\n" };
  const server = { "POST /api/runs": good({ run: "r" }, 202), "GET /api/runs/r": good({ runner }) };
  const { desk, time } = makeDesk(server);

  await desk.experiments.open({ preset: "classroom", phones: 6 });
  assert.equal(desk.state.starting_run, "r");
  await time.pass(1000);

  assert.equal(desk.state.starting_run, null);
  assert.match(desk.state.problem, /did not start: The clock channel is silent\./);
});

test("why a runner ended is said in the operator's language where the server has words for it", async () => {
  const ending = { code: "clock_gone", parameters: {}, text: "Saluran jam hilang." };
  const runner = { state: "ended", exit_code: 3, phones: 6, last_words: "The clock channel is gone.", ending };
  const server = { "POST /api/runs": good({ run: "r" }, 202), "GET /api/runs/r": good({ runner }) };
  const { desk, time } = makeDesk(server);

  await desk.experiments.open({ preset: "classroom", phones: 6 });
  await time.pass(1000);

  assert.match(desk.state.problem, /did not start: Saluran jam hilang\.$/);
});

test("an experiment that opens its room is watched no longer", async () => {
  const runner = { state: "running", exit_code: null, phones: 6, last_words: "" };
  const server = { "POST /api/runs": good({ run: "r" }, 202), "GET /api/runs/r": good({ runner }) };
  const { desk, time, lines } = makeDesk({ ...server, "GET /api/room": good({ ...ROOM, run: "r" }) });

  await desk.experiments.open({ preset: "classroom", phones: 6 });
  await time.pass(1000);
  await desk.readRoom();
  await time.pass(60_000);

  assert.equal(lines().filter((line) => line === "GET /api/runs/r").length, 2);
  assert.deepEqual([desk.state.starting_run, desk.state.problem], [null, ""]);
});

test("stopping what is under way is asked about; while phones gather the room is closed at once", async () => {
  const room = (phase) => good({ ...ROOM, phase, run: "r" });

  const running = makeDesk({ "GET /api/room": room("running") });
  await running.desk.readRoom();
  await running.desk.experiments.control("stop");
  assert.equal(running.questions.length, 1);
  assert.deepEqual(running.lines().slice(1), ["POST /api/runs/r/stop"]);

  const gathering = makeDesk({ "GET /api/room": room("gathering"), "POST /api/runs/r/stop": bad(409) });
  await gathering.desk.readRoom();
  await gathering.desk.experiments.control("stop");
  assert.equal(gathering.questions.length, 0);
  assert.equal(gathering.lines().at(-1), "DELETE /api/room");
});

test("a deleted run is out of the list at once and can be had back", async () => {
  const { desk, lines } = makeDesk({ "GET /api/runs": good([{ id: "a" }, { id: "b" }]) });
  await desk.readRuns();

  await desk.experiments.deleteRun("a");
  assert.deepEqual([desk.state.runs, desk.state.deleted_run], [[{ id: "b" }], "a"]);
  await desk.experiments.restoreRun();

  assert.equal(desk.state.deleted_run, null);
  assert.deepEqual(lines().slice(1), ["DELETE /api/runs/a", "POST /api/runs/a/restore"]);
});

test("a refusal is shown in the server's words until something goes well", async () => {
  let answer = bad(409, "No phone is ready yet.");
  const { desk } = makeDesk({ "POST /api/room/start": () => answer });

  await desk.experiments.control("start");
  assert.match(desk.state.problem, /No phone is ready yet/);
  answer = good();
  await desk.experiments.control("start");

  assert.equal(desk.state.problem, "");
});

test("a run that is ticked is compared until it is ticked off", () => {
  const { desk } = makeDesk();

  for (const [run, isChosen] of [["a", true], ["b", true], ["a", false]]) desk.chooseToCompare(run, isChosen);

  assert.deepEqual([...desk.state.compared], ["b"]);
});
