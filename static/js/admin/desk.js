/**
 * What the operator does, and what the page knows: one state, changed here only, and told after each change.
 *
 * In a trial it asks the server for nothing: a question costs what is being measured.
 */

import { failureWords, isGood } from "./api.js";
import { RECEIVERS_UNASKED_MAX, mergeHistory, receiversOf } from "./broadcast.js";
import { readHistory } from "./history.js";
import { isolatedName } from "./names.js";
import { ReceiptFollower } from "./receipt.js";

/** How often, and how many times, a start is looked at: a runner is there within a few seconds, or not at all. */
const START_LOOK_MS = 1_000;
const START_LOOKS_MAX = 20;

/** @typedef {import("./api.js").Answer} Answer */
/** @typedef {import("./types.js").PageState} PageState */
/** @typedef {import("./types.js").Publish} Publish */
/** @typedef {import("./types.js").Speech} Speech */

/**
 * @typedef {{
 *   api: Pick<import("./api.js").Api, "ask">, speech: Speech, clock: import("../screen/server_clock.js").ServerClock,
 *   timers: import("../types.js").Timers, nowUs: () => number,
 *   question: (text: string, yes: string) => Promise<boolean>, onChange: () => void,
 *   isHidden: () => boolean,
 * }} Parts
 */

export class Desk {
  #api;
  #speech;
  #clock;
  #timers;
  #nowUs;
  #question;
  #onChange;
  #isHidden;
  #follower;
  #phones = 6;

  /** Called when there is a session, and when there is none any more. @type {(isIn: boolean) => void} */
  onSession = () => {};
  /** Called when something was done, so that the page looks at once. */
  onActed = () => {};

  /** @type {PageState} */
  state = {
    session: "unknown",
    problem: "",
    word: "",
    sign_in_problem: "",
    room: null,
    heard_us: 0,
    devices: [],
    presets: [],
    runs: [],
    history: [],
    followed: null,
    chosen: new Set(),
    deleted_run: null,
    starting_run: null,
    is_changing: false,
  };

  /** @param {Parts} parts */
  constructor({ api, speech, clock, timers, nowUs, question, onChange, isHidden }) {
    this.#api = api;
    this.#speech = speech;
    this.#clock = clock;
    this.#timers = timers;
    this.#nowUs = nowUs;
    this.#question = question;
    this.#onChange = onChange;
    this.#isHidden = isHidden;
    this.#follower = new ReceiptFollower({
      api,
      timers,
      onFollowed: (followed) => this.#set({ followed }),
    });
  }

  // Coming in.

  /**
   * The page was opened, perhaps by a one-time link.
   *
   * @param {string | null} key
   * @param {boolean} isSignedIn whether it came with a session
   */
  async arrive(key, isSignedIn) {
    if (isSignedIn) await this.#enter();
    else if (key !== null) await this.#signIn({ body: { key } }, "sign_in.link_used");
    else this.#set({ session: "out" });
  }

  /** @param {string} token */
  async signInByToken(token) {
    await this.#signIn({ token }, "sign_in.wrong_token");
  }

  async signOut() {
    await this.#api.ask("DELETE", "/api/sessions");
    this.#leave("");
  }

  /**
   * @param {{body?: unknown, token?: string}} proof
   * @param {string} wrongKey the text for a proof that is none
   */
  async #signIn(proof, wrongKey) {
    const answer = await this.#api.ask("POST", "/api/sessions", proof);
    if (isGood(answer)) {
      await this.#enter();
      return true;
    }
    const { t } = this.#speech;
    const isWrong = [400, 401].includes(answer.status);
    const needsHttps = answer.status === 403 && /https/i.test(answer.detail);
    const isUsed = answer.status === 403 && proof.token === undefined;
    if (needsHttps) this.#set({ session: "out", sign_in_problem: t("sign_in.needs_https") });
    else if (isWrong || isUsed) this.#set({ session: "out", sign_in_problem: t(wrongKey) });
    else this.#set({ session: "out", sign_in_problem: failureWords(answer, this.#speech) });
    return false;
  }

  async #enter() {
    this.#set({ session: "in", sign_in_problem: "", problem: "" });
    this.onSession(true);
    const [history] = await Promise.all([readHistory(this.#api), this.#readPresets()]);
    this.#set({ history: mergeHistory(this.state.history, history) });
  }

  /** @param {string} problem */
  #leave(problem) {
    this.onSession(false);
    this.#set({
      session: "out",
      sign_in_problem: problem,
      room: null,
      devices: [],
      runs: [],
      followed: null,
    });
  }

  // What the page asks again and again. Each says whether the server answered.

  async readRoom() {
    if (this.state.room !== null && this.#isHidden()) return true;
    const askedUs = this.#nowUs();
    const answer = await this.#api.ask("GET", "/api/room");
    if (!this.#take(answer)) return false;
    this.#clock.onAnswer(answer.data.server_us, askedUs);
    this.#set({ room: answer.data, heard_us: answer.data.server_us });
    return true;
  }

  async readDevices() {
    if (this.#isMeasuring() || this.#isHidden()) return true;
    const answer = await this.#api.ask("GET", "/api/devices");
    if (!this.#take(answer)) return false;
    this.#set({ devices: answer.data.devices });
    return true;
  }

  async readRuns() {
    // Not held back by built-in clients: that they have ended is seen here.
    if (this.#isInTrial() || this.#isHidden()) return true;
    const answer = await this.#api.ask("GET", "/api/runs");
    if (!this.#take(answer)) return false;
    this.#set({ runs: Array.isArray(answer.data) ? answer.data : answer.data.runs });
    return true;
  }

  /**
   * The presets for so many phones.
   *
   * @param {number} phones
   */
  async setPhones(phones) {
    this.#phones = phones;
    await this.#readPresets();
  }

  async #readPresets() {
    const phones = this.#phones;
    const answer = await this.#api.ask("GET", `/api/presets?phones=${phones}`);
    if (isGood(answer) && phones === this.#phones) this.#set({ presets: answer.data });
  }

  // What the operator does.

  /**
   * Publish, after a question where it reaches many or disturbs an experiment.
   *
   * @param {Publish} publish
   */
  async broadcast(publish) {
    const { t } = this.#speech;
    const count = receiversOf(this.state.devices, publish).length;
    const isCrowd = count > RECEIVERS_UNASKED_MAX;
    if (isCrowd && !(await this.#question(t("question.many", { count }), t("broadcast.send")))) return;
    let answer = await this.#api.ask("POST", "/api/notifications", { body: publish });
    if (answer.status === 409) {
      if (!(await this.#question(t("question.measuring"), t("question.send_anyway")))) return;
      answer = await this.#api.ask("POST", "/api/notifications", { body: { ...publish, force: true } });
    }
    if (!this.#take(answer)) return;
    const { id, sent_us, recipients } = answer.data;
    const sent = { ...publish, id, sent_us };
    this.#set({ problem: "", history: mergeHistory([sent], this.state.history) });
    this.#follower.follow(id, recipients.sse + recipients.socketio);
  }

  /**
   * @param {string} device
   * @param {boolean} isChosen
   */
  choose(device, isChosen) {
    const chosen = new Set(this.state.chosen);
    if (isChosen) chosen.add(device);
    else chosen.delete(device);
    this.#set({ chosen });
  }

  /** @param {string} device */
  async disconnect(device) {
    await this.#act("DELETE", `/api/devices/${encodeURIComponent(device)}`, { word: "word.disconnected" });
  }

  /** @param {import("./plan_view.js").Order} order */
  async openExperiment(order) {
    const answer = await this.#api.ask("POST", "/api/runs", { body: order });
    if (!this.#take(answer)) return;
    this.#set({ is_changing: false, starting_run: answer.data.run });
    this.#acted("word.starting");
    this.#watchStart(answer.data.run, START_LOOKS_MAX);
  }

  /**
   * A runner takes some seconds until it lets phones gather, and may end before that: then its last words say why.
   *
   * @param {string} run
   * @param {number} looksLeft
   */
  #watchStart(run, looksLeft) {
    this.#timers.setTimeout(async () => {
      const answer = await this.#api.ask("GET", `/api/runs/${encodeURIComponent(run)}`);
      const runner = answer.data?.runner;
      const isOpen = this.state.room?.run === run || (isGood(answer) && runner?.phones === null);
      if (runner?.state === "ended" && runner.exit_code !== 0) {
        const words = this.#speech.t("problem.runner", { words: lastLine(runner.last_words) });
        this.#set({ starting_run: null, word: "", problem: words });
      } else if (isOpen || looksLeft === 0) {
        this.#set({ starting_run: null, word: "" });
        this.onActed();
      } else {
        this.#watchStart(run, looksLeft - 1);
      }
    }, START_LOOK_MS);
  }

  /** The same experiment once more; the server draws a new order. */
  async runAgain() {
    const { plan, wanted_count } = this.state.room ?? {};
    if (plan && wanted_count)
      await this.openExperiment({
        plan: /** @type {import("./types.js").Plan} */ (plan),
        phones: wanted_count,
      });
  }

  /**
   * Open the form for another run like the one in the room, or like an earlier one; its plan, if it is known.
   *
   * @param {string} [run]
   * @returns {Promise<{plan: Partial<import("./types.js").Plan>, phones: number, built_in: boolean} | null>}
   */
  async planAgain(run) {
    let [plan, phones, built_in] = [this.state.room?.plan, this.state.room?.wanted_count ?? 1, false];
    if (run !== undefined) {
      const answer = await this.#api.ask("GET", `/api/runs/${encodeURIComponent(run)}`);
      if (!this.#take(answer)) return null;
      plan = answer.data.plan ?? undefined;
      phones = answer.data.phones || Math.max(1, ...(plan?.client_counts ?? []));
      built_in = Boolean(answer.data.simulated);
    }
    if (plan === undefined) return null;
    this.#set({ is_changing: true });
    return { plan, phones, built_in };
  }

  /** @param {import("./room_view.js").Control} control */
  async control(control) {
    if (control === "stop") await this.#stop();
    else await this.#act("POST", `/api/room/${control}`);
  }

  async #stop() {
    const { t } = this.#speech;
    const { phase, run } = this.state.room ?? {};
    const isUnderWay = phase !== "gathering";
    if (isUnderWay && !(await this.#question(t("question.stop"), t("room.stop")))) return;
    // The runner ends what it has begun and writes the report; a room that no runner opened is just closed.
    const answer = await this.#api.ask("POST", `/api/runs/${encodeURIComponent(run ?? "")}/stop`);
    if (isUnderWay && isGood(answer)) this.#acted("word.stopping");
    else await this.#act("DELETE", "/api/room");
  }

  /** @param {import("./types.js").OperatorSeat} seat */
  async removeParticipant(seat) {
    const { t } = this.#speech;
    const name = isolatedName(seat, this.#speech);
    if (!(await this.#question(t("question.remove", { name }), t("seat.remove")))) return;
    await this.#act("DELETE", `/api/room/participants/${encodeURIComponent(seat.device)}`);
  }

  async putAway() {
    await this.#act("DELETE", "/api/room");
  }

  /** @param {string} run */
  async stopRun(run) {
    await this.#act("POST", `/api/runs/${encodeURIComponent(run)}/stop`, { word: "word.stopping" });
  }

  /** @param {string} run */
  async deleteRun(run) {
    if (await this.#act("DELETE", `/api/runs/${encodeURIComponent(run)}`))
      this.#set({ deleted_run: run, runs: this.state.runs.filter(({ id }) => id !== run) });
  }

  async restoreRun() {
    const run = this.state.deleted_run ?? "";
    if (await this.#act("POST", `/api/runs/${encodeURIComponent(run)}/restore`, { word: "word.restored" }))
      this.#set({ deleted_run: null });
  }

  async newLink() {
    const answer = await this.#api.ask("POST", "/api/links");
    if (this.#take(answer)) this.#set({ word: this.#speech.t("word.link", { url: answer.data.url }) });
  }

  /** @param {boolean} isGoodCopy */
  copied(isGoodCopy) {
    this.#set({ word: this.#speech.t(isGoodCopy ? "word.copied" : "word.not_copied") });
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {{body?: unknown, word?: string}} [extra]
   */
  async #act(method, path, { body, word } = {}) {
    const answer = await this.#api.ask(method, path, { body });
    if (!this.#take(answer)) return false;
    this.#acted(word);
    return true;
  }

  /** @param {string} [word] */
  #acted(word) {
    this.#set({ problem: "", word: word ? this.#speech.t(word) : "" });
    this.onActed();
  }

  /**
   * Whether the answer is good; if not, the page says why.
   *
   * @param {Answer} answer
   */
  #take(answer) {
    if (isGood(answer)) {
      if (this.state.problem === this.#speech.t("problem.server_away")) this.#set({ problem: "" });
      return true;
    }
    const words = failureWords(answer, this.#speech);
    if (answer.status === 401) this.#leave(words);
    else this.#set({ problem: words });
    return false;
  }

  /** Whether phones or built-in clients measure the server, as far as this page knows. */
  #isMeasuring() {
    const { room, runs } = this.state;
    const isWithoutPhones = room?.phase === "closed" && runs.some(({ state }) => state === "running");
    return this.#isInTrial() || isWithoutPhones;
  }

  #isInTrial() {
    const trial = this.state.room?.trial ?? null;
    return trial !== null && trial.state !== "collect";
  }

  /** @param {Partial<PageState>} change */
  #set(change) {
    Object.assign(this.state, change);
    this.#onChange();
  }
}

/**
 * What a process said last; the lines before it are how it came to that.
 *
 * @param {string | null} words
 */
function lastLine(words) {
  return (words ?? "").trim().split("\n").at(-1) ?? "";
}
