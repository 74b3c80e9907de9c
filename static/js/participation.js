/**
 * A phone in a room, from Join to leaving: says how it is, hears what comes next, and does it.
 *
 *     join --> checks --> ready --> [ countdown --> trial, trial, ... ] --> finished
 *              \------------------- asks for its assignment between trials --------/
 *
 * While a trial that it takes part in is running, the phone asks nothing (trial_session.js).
 */

import { Checkup } from "./checkup.js";
import { withReload } from "./conduct.js";
import { nextInMs } from "./room_pace.js";
import { problemsOf, refusalOf, reportOf, trialViewOf } from "./room_report.js";
import { SleepWitness } from "./sleep_witness.js";
import { leftOf } from "./trial_log.js";
import { TrialSession } from "./trial_session.js";

/** @typedef {import("./room_types.js").Assignment} Assignment */
/** @typedef {import("./room_types.js").RoomProblem} RoomProblem */
/** @typedef {import("./room_types.js").Trial} Trial */
/** @typedef {import("./trial_log.js").Piece} Piece */
/** @typedef {import("./types.js").LifecycleEvent} LifecycleEvent */

/**
 * @typedef {Omit<import("./trial_session.js").TrialDependencies, "keeper" | "onTimeOver"> & {
 *   keeper: import("./clock_keeper.js").ClockKeeper,
 *   log: Pick<import("./outbox_store.js").OutboxStore, "pieces" | "addPiece" | "dropPieces">,
 *   device: Pick<import("./device_client.js").DeviceClient, "request">,
 *   fetch: (url: string, options?: RequestInit) => Promise<Response>, wallUs: () => number,
 *   onTrials: () => void,
 * }} ParticipationDependencies `onTrials`: trials begin, so whatever else the phone receives has to end
 */

/** One phone's part in an experiment. */
export class Participation {
  #wish;
  #dependencies;
  #checkup;
  #sleep;
  #isVisible;
  #isAwake = false;
  /** @type {"joining" | "in" | "out"} */
  #step = "joining";
  /** @type {Assignment | null} */
  #assignment = null;
  /** @type {RoomProblem | null} why joining was refused */
  #refusal = null;
  #failedTries = 0;
  /** @type {import("./device_client.js").Answer} */
  #lastFailure = { status: 0, body: null };
  #sleptInTrial = false;
  /** @type {Piece | null} of a trial in which the page was loaded anew */
  #left = null;
  #isCheckDue = false;
  /** @type {TrialSession | null} */
  #trial = null;
  #isPosting = false;
  /** @type {number | null} */
  #trialDone = null;
  /** @type {number | null} a trial that was called off, or is over: it is not opened again */
  #trialClosed = null;
  #offsetUs = 0;
  /** @type {any} */
  #timer = null;
  #isAsking = false;

  /**
   * @param {{wish: import("./types.js").Wish, visible: boolean}} wanted
   * @param {ParticipationDependencies} dependencies
   */
  constructor({ wish, visible }, dependencies) {
    this.#wish = wish;
    this.#isVisible = visible;
    this.#dependencies = dependencies;
    this.#checkup = new Checkup({ ...dependencies, onChange: () => this.#onChecks() });
    this.#sleep = new SleepWitness(dependencies, {
      onGap: (durationUs, atUs) => this.#onSlept((conduct) => conduct.noteGap(durationUs, atUs)),
      onSuspended: (durationUs, atUs) => this.#onSlept((conduct) => conduct.noteSuspended(durationUs, atUs)),
      onWallStep: (atUs) => this.#trial?.conduct.noteWallStep(atUs),
    });
  }

  get step() {
    return this.#step;
  }

  /** Whether a trial is being measured here, so that the page is to draw little. */
  get isMeasuring() {
    return this.#isSilent();
  }

  /** Whether nothing is about to be measured, so that it may receive what it likes. */
  get isIdle() {
    const { phase, trial } = this.#assignment ?? {};
    const isCalm = phase === "gathering" || phase === "finished" || phase === "closed";
    return isCalm && !trial && this.#trial === null && this.#checkup.isPassed;
  }

  /** Take a seat; a seat that this device has already is given again. */
  async join() {
    const { name, model, join_code } = this.#wish;
    const body = {
      ...(name ? { name } : {}),
      ...(model ? { model } : {}),
      ...(join_code ? { join_code } : {}),
    };
    const answer = await this.#dependencies.device.request("POST", "/api/participants", body);
    const left = leftOf(await this.#dependencies.log.pieces());
    // It has left meanwhile.
    if (this.#step === "out") return;
    if (answer.status !== 201) {
      this.#refusal = refusalOf(answer);
      this.#leaveStep();
      return;
    }
    this.#left = left;
    this.#step = "in";
    this.#dependencies.keeper.start();
    this.#sleep.start();
    this.#askIn(0);
    // In a trial nothing is to be tried out; this phone has passed them before.
    if (this.#left === null) this.#checkup.run();
    else this.#isCheckDue = true;
  }

  /** Give the seat up, or know that it is gone: either way it was this phone's own wish. */
  async leave() {
    this.#refusal = null;
    this.#leaveStep();
    await this.#dependencies.device.request("DELETE", "/api/participants/me");
  }

  /** Look at everything again. */
  check() {
    this.#checkup.run();
  }

  /** @param {boolean} isAwake whether the page holds a wake lock */
  setAwake(isAwake) {
    this.#isAwake = isAwake;
    this.#askSoon();
  }

  /**
   * @param {LifecycleEvent} kind
   * @param {number} atUs client time
   */
  noteLifecycle(kind, atUs) {
    this.#trial?.noteLifecycle(kind, atUs);
    if (kind === "hidden" || kind === "visible") this.#isVisible = kind === "visible";
    if (kind === "hidden" && this.#trial) this.#sleptInTrial = true;
    if (kind === "visible" || kind === "resume" || kind === "pageshow" || kind === "online") {
      this.#sleep.look();
    }
    this.#askSoon();
    this.#dependencies.onChange();
  }

  /**
   * @param {string} id
   * @param {number} displayedUs client time
   */
  noteDisplayed(id, displayedUs) {
    this.#trial?.noteDisplayed(id, displayedUs);
  }

  /** @returns {import("./room_types.js").RoomState} */
  state() {
    const assignment = this.#assignment;
    return {
      step: this.#step,
      assignment,
      ...this.#checkup.state(),
      isReady: this.#isReady(),
      problems: problemsOf({
        refusal: this.#refusal,
        failedTries: this.#failedTries,
        lastFailure: this.#lastFailure,
        isVisible: this.#isVisible,
        hasSlept: this.#sleptInTrial,
        trial: this.#trial,
        isPosting: this.#isPosting,
      }),
      trial: trialViewOf(assignment?.trial ?? null, this.#trial, this.#isPosting),
      countdown_in_ms: this.#untilMs(assignment?.countdown_to_us ?? null),
      remaining_ms: this.#untilMs(this.#trial?.endsUs ?? assignment?.trial?.ends_us ?? null),
      clock_bound_ms: this.#boundMs(),
    };
  }

  #leaveStep() {
    const { timers, keeper, onChange } = this.#dependencies;
    if (this.#step === "in") keeper.finish();
    this.#step = "out";
    // Who is out asks for nothing, and has nothing repeated.
    this.#failedTries = 0;
    this.#sleptInTrial = false;
    timers.clearTimeout(this.#timer);
    this.#sleep.stop();
    this.#trial?.close();
    this.#trial = null;
    onChange();
  }

  /** Ask before the next turn: something has changed. Not while a trial keeps the phone silent. */
  #askSoon() {
    if (this.#step === "in" && !this.#isSilent()) this.#askIn(0);
  }

  /** @param {number} delayMs */
  #askIn(delayMs) {
    const { timers } = this.#dependencies;
    timers.clearTimeout(this.#timer);
    this.#timer = timers.setTimeout(() => this.#ask(), delayMs);
  }

  async #ask() {
    if (this.#isAsking || this.#step !== "in") return;
    if (this.#isSilent()) return;
    this.#isAsking = true;
    const { status, body } = await this.#dependencies.device.request(
      "POST",
      "/api/assignment",
      this.#report(),
    );
    this.#isAsking = false;
    if (this.#step !== "in") return;
    if (status === 200 && body) this.#onAssignment(body);
    else {
      this.#failedTries += 1;
      this.#lastFailure = { status, body };
    }
    this.#dependencies.onChange();
    if (this.#step === "in" && !this.#isSilent()) this.#askIn(this.#nextInMs());
  }

  /** While it takes part in a trial that has begun, until that is over. */
  #isSilent() {
    const trial = this.#trial;
    return trial !== null && !this.#isPosting && (trial.hasBegun || trial.endsUs !== null);
  }

  #nextInMs() {
    return nextInMs(this.#assignment, {
      failedTries: this.#failedTries,
      trialDone: this.#trialDone,
      untilMs: (serverUs) => this.#untilMs(serverUs),
      random: this.#dependencies.random,
    });
  }

  #report() {
    return reportOf({
      checks: this.#checkup.state().checks,
      isReady: this.#isReady(),
      isVisible: this.#isVisible,
      isAwake: this.#isAwake,
      trial: this.#trial,
      isPosting: this.#isPosting,
      trialDone: this.#trialDone,
      boundMs: this.#boundMs(),
      roundTrips: this.#dependencies.keeper.roundTrips,
    });
  }

  /** How well the clock is known; null while it is not. */
  #boundMs() {
    const { state, bound_us } = this.#dependencies.keeper.status();
    return state === "ok" || state === "wide_u" ? Number(bound_us) / 1000 : null;
  }

  #isReady() {
    return this.#step === "in" && this.#isVisible && this.#checkup.isPassed;
  }

  /** @param {Assignment} assignment */
  #onAssignment(assignment) {
    const before = this.#assignment;
    this.#failedTries = 0;
    this.#assignment = assignment;
    this.#offsetUs = assignment.server_us - this.#dependencies.nowUs();
    if (before?.run !== assignment.run) {
      this.#trialDone = null;
      this.#trialClosed = null;
    }
    if (!assignment.you.joined || assignment.you.removed) {
      // Nobody sent it away: the server was started anew, and has another room.
      if (!assignment.you.removed) this.#refusal = "run_lost";
      this.#leaveStep();
    } else {
      this.#follow(assignment);
    }
  }

  /** @param {Assignment} assignment */
  #follow({ phase, run, trial }) {
    if (phase === "countdown" || trial !== null) this.#dependencies.onTrials();
    const current = this.#trial;
    if (current !== null) {
      if (this.#isPosting) return;
      if (trial?.index === current.index && trial.state !== "collect") current.setEnd(trial.ends_us);
      else if (trial?.index === current.index) this.#endTrial();
      else this.#callOff(current);
    }
    const left = this.#left;
    this.#left = null;
    const isSame = left !== null && left.context.run === run && left.context.trial === trial?.index;
    const isOn = isSame && trial?.state === "running";
    if (left !== null && !isOn) this.#handOver(left, { isOver: !isSame || trial?.state === "collect" });
    if (this.#trial === null && run !== null && this.#isNew(trial))
      this.#beginTrial(run, /** @type {Trial} */ (trial), isOn ? left : null);
  }

  /**
   * The page was loaded anew in a trial: what that brought goes out as it is, with what happened. In a trial that has
   * not begun nothing happened.
   *
   * @param {Piece} left
   * @param {{isOver: boolean}} trial
   */
  async #handOver({ taken, conduct, context }, { isOver }) {
    const { outbox, log, nowUs } = this.#dependencies;
    if (isOver) {
      for (const { sample, context } of taken) outbox.add(sample, context);
      outbox.addConduct({ ...conduct, events: withReload(conduct.events, nowUs()) }, context);
    }
    log.dropPieces();
    await outbox.emptied();
    if (isOver && this.#assignment?.run === context.run && this.#trial === null)
      this.#trialDone = this.#trialClosed = context.trial;
    if (this.#trial === null) this.#checkAgain();
    this.#askSoon();
  }

  #checkAgain() {
    if (this.#isCheckDue) this.#checkup.run();
    this.#isCheckDue = false;
  }

  /** @param {Trial | null} trial */
  #isNew(trial) {
    if (trial === null || !trial.take_part || trial.state === "collect") return false;
    return trial.index !== this.#trialDone && trial.index !== this.#trialClosed;
  }

  /**
   * @param {string} run
   * @param {Trial} trial
   * @param {Piece | null} left
   */
  #beginTrial(run, trial, left) {
    this.#sleptInTrial = false;
    // One piece of what there is: the numbers of the pieces begin anew.
    this.#dependencies.log.dropPieces();
    if (left !== null) this.#dependencies.log.addPiece(left);
    this.#trial = new TrialSession(
      { run, trial, visible: this.#isVisible, answerOffsetUs: this.#offsetUs, left },
      {
        ...this.#dependencies,
        onChange: () => {
          this.#dependencies.onChange();
          this.#askSoon();
        },
        onTimeOver: () => this.#endTrial(),
      },
    );
    this.#trial.setEnd(trial.ends_us);
  }

  async #endTrial() {
    const trial = this.#trial;
    if (trial === null || this.#isPosting) return;
    this.#isPosting = true;
    this.#dependencies.onChange();
    await trial.end();
    this.#isPosting = false;
    this.#trial = null;
    this.#trialDone = this.#trialClosed = trial.index;
    this.#checkAgain();
    this.#dependencies.onChange();
    this.#askSoon();
  }

  /**
   * The runner went on without this trial: it was void for another reason.
   *
   * @param {TrialSession} trial
   */
  #callOff(trial) {
    trial.close();
    this.#dependencies.log.dropPieces();
    this.#trialClosed = trial.index;
    this.#trial = null;
  }

  #onChecks() {
    this.#dependencies.onChange();
    this.#askSoon();
  }

  /** @param {(conduct: import("./conduct.js").ConductRecord) => void} note */
  #onSlept(note) {
    if (this.#trial === null) return;
    this.#sleptInTrial = true;
    note(this.#trial.conduct);
    this.#askSoon();
  }

  /**
   * @param {number | null} serverUs
   * @returns {number | null} milliseconds from now; by the clock where it is known, else by the last answer
   */
  #untilMs(serverUs) {
    if (serverUs === null) return null;
    const { keeper, nowUs } = this.#dependencies;
    const atUs = nowUs();
    const offsetUs = keeper.read(atUs, { live: true }).offset_us ?? this.#offsetUs;
    return Math.max(0, (serverUs - offsetUs - atUs) / 1000);
  }
}
