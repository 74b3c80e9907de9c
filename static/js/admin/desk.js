/**
 * What the operator does, and what the page asks for it: sign in, how things stand, broadcast, devices.
 *
 * In a trial it asks the server for nothing: a question costs what is being measured.
 */

import { failureWords, isGood } from "./api.js";
import { RECEIVERS_UNASKED_MAX, mergeHistory, receiversOf } from "./broadcast.js";
import { DeskCore } from "./desk_core.js";
import { Experiments } from "./experiments.js";
import { readHistory } from "./history.js";
import { ReceiptFollower } from "./receipt.js";

/** @typedef {import("./types.js").Publish} Publish */

/**
 * @typedef {import("./desk_core.js").Parts & {
 *   clock: import("../screen/server_clock.js").ServerClock, nowUs: () => number, isHidden: () => boolean,
 * }} Parts
 */

export class Desk {
  #core;
  #clock;
  #nowUs;
  #isHidden;
  #follower;

  /** @param {Parts} parts */
  constructor({ clock, nowUs, isHidden, ...parts }) {
    this.#core = new DeskCore(parts);
    this.experiments = new Experiments(this.#core);
    this.#clock = clock;
    this.#nowUs = nowUs;
    this.#isHidden = isHidden;
    this.#follower = new ReceiptFollower({
      api: parts.api,
      timers: parts.timers,
      onFollowed: (followed) => this.#core.set({ followed }),
    });
    this.#core.onLeft = () => this.#follower.stop();
  }

  get state() {
    return this.#core.state;
  }

  /** @param {(isIn: boolean) => void} action called when there is a session, and when there is none any more */
  set onSession(action) {
    this.#core.onSession = action;
  }

  /** @param {() => void} action called when something was done, so that the page looks at once */
  set onActed(action) {
    this.#core.onActed = action;
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
    else this.#core.set({ session: "out" });
  }

  /** @param {string} token */
  async signInByToken(token) {
    await this.#signIn({ token }, "sign_in.wrong_token");
  }

  async signOut() {
    await this.#core.api.ask("DELETE", "/api/sessions");
    this.#core.leave("");
  }

  /**
   * @param {{body?: unknown, token?: string}} proof
   * @param {string} wrongKey the text for a proof that is none
   */
  async #signIn(proof, wrongKey) {
    const answer = await this.#core.api.ask("POST", "/api/sessions", proof);
    if (isGood(answer)) {
      await this.#enter();
      return true;
    }
    const { t } = this.#core.speech;
    const isWrong = [400, 401].includes(answer.status);
    const needsHttps = answer.code === "admin_over_http";
    const isUsed = answer.status === 403 && proof.token === undefined;
    if (needsHttps) this.#core.set({ session: "out", sign_in_problem: answer.detail });
    else if (isWrong || isUsed) this.#core.set({ session: "out", sign_in_problem: t(wrongKey) });
    else this.#core.set({ session: "out", sign_in_problem: failureWords(answer, this.#core.speech) });
    return false;
  }

  async #enter() {
    this.#core.set({ session: "in", sign_in_problem: "", problem: "" });
    this.#core.onSession(true);
    const [history] = await Promise.all([readHistory(this.#core.api), this.experiments.readPresets()]);
    // Who has signed out meanwhile leaves nothing on the page.
    if (this.state.session === "in") this.#core.set({ history: mergeHistory(this.state.history, history) });
  }

  // What the page asks again and again. Each says whether the server answered.

  async readRoom() {
    if (this.state.room !== null && this.#isHidden()) return true;
    const askedUs = this.#nowUs();
    const answer = await this.#core.api.ask("GET", "/api/room");
    if (!this.#core.take(answer)) return false;
    this.#clock.onAnswer(answer.data.server_us, askedUs);
    this.#core.set({ room: answer.data, heard_us: answer.data.server_us });
    return true;
  }

  async readDevices() {
    if (this.#isMeasuring() || this.#isHidden()) return true;
    const answer = await this.#core.api.ask("GET", "/api/devices");
    if (!this.#core.take(answer)) return false;
    this.#core.set({ devices: answer.data.devices });
    return true;
  }

  async readRuns() {
    // Not held back by built-in clients: that they have ended is seen here.
    if (this.#isInTrial() || this.#isHidden()) return true;
    const answer = await this.#core.api.ask("GET", "/api/runs");
    if (!this.#core.take(answer)) return false;
    this.#core.set({ runs: Array.isArray(answer.data) ? answer.data : answer.data.runs });
    return true;
  }

  async readSelfTests() {
    if (!this.state.wants_self_tests || this.#isMeasuring() || this.#isHidden()) return true;
    const answer = await this.#core.api.ask("GET", "/api/selftests");
    if (!this.#core.take(answer)) return false;
    this.#core.set({ self_tests: answer.data.records });
    return true;
  }

  // What the operator does.

  /**
   * Publish, after a question where it reaches many or disturbs an experiment.
   *
   * @param {Publish} publish
   */
  async broadcast(publish) {
    const { t } = this.#core.speech;
    const count = receiversOf(this.state.devices, publish).length;
    const isCrowd = count > RECEIVERS_UNASKED_MAX;
    if (isCrowd && !(await this.#core.question(t("question.many", { count }), t("broadcast.send")))) return;
    let answer = await this.#core.api.ask("POST", "/api/notifications", { body: publish });
    if (answer.status === 409) {
      if (!(await this.#core.question(t("question.measuring"), t("question.send_anyway")))) return;
      answer = await this.#core.api.ask("POST", "/api/notifications", { body: { ...publish, force: true } });
    }
    if (!this.#core.take(answer)) return;
    const { id, sent_us, recipients } = answer.data;
    const sent = { ...publish, id, sent_us };
    this.#core.set({ problem: "", history: mergeHistory([sent], this.state.history) });
    this.#follower.follow(id, recipients.sse + recipients.socketio);
  }

  /**
   * @param {string} device
   * @param {boolean} isChosen
   */
  choose(device, isChosen) {
    this.#core.set({ chosen: changed(this.state.chosen, device, isChosen) });
  }

  /**
   * @param {string} run
   * @param {boolean} isChosen
   */
  chooseToCompare(run, isChosen) {
    this.#core.set({ compared: changed(this.state.compared, run, isChosen) });
  }

  /** @param {boolean} isShown whether the operator looks at them: otherwise nobody asks for them */
  showSelfTests(isShown) {
    this.#core.set({ wants_self_tests: isShown });
    if (isShown) this.#core.onActed();
  }

  /** @param {string} device */
  async disconnect(device) {
    await this.#core.act("DELETE", `/api/devices/${encodeURIComponent(device)}`, {
      word: "word.disconnected",
    });
  }

  async newLink() {
    const answer = await this.#core.api.ask("POST", "/api/links");
    if (this.#core.take(answer))
      this.#core.set({ word: this.#core.speech.t("word.link", { url: answer.data.url }) });
  }

  /** @param {boolean} isGoodCopy */
  copied(isGoodCopy) {
    this.#core.set({ word: this.#core.speech.t(isGoodCopy ? "word.copied" : "word.not_copied") });
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
}

/**
 * A set with or without something.
 *
 * @param {ReadonlySet<string>} set
 * @param {string} item
 * @param {boolean} isIn
 */
function changed(set, item, isIn) {
  const made = new Set(set);
  if (isIn) made.add(item);
  else made.delete(item);
  return made;
}
