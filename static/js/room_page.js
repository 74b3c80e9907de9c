/**
 * The room's part of the page: looks for an experiment, joins it, and draws what the worker says of it.
 *
 * It keeps the screen awake while the phone is in the room, and posts nothing itself but what a person asks for.
 */

import { byId } from "./elements.js";
import { Forgetting } from "./forgetting.js";
import { stepOf } from "./room_steps.js";
import { RoomView } from "./room_view.js";
import { RoomWatch } from "./room_watch.js";
import { WakeLock } from "./wake_lock.js";

/** @typedef {import("./room_types.js").Assignment} Assignment */
/** @typedef {import("./room_types.js").RoomState} RoomState */

/** A countdown that changes twice within what the eye sees as one. */
const COUNTDOWN_LOOK_MS = 100;

/**
 * @typedef {{
 *   document: Document, speech: import("./words.js").Speech, config: import("./types.js").Config,
 *   device: import("./device_client.js").DeviceClient,
 *   send: (message: import("./types.js").ToWorker) => void, claim: () => Promise<boolean>,
 *   timers: import("./types.js").Timers, drawSoon: () => void, breakOff: () => void,
 * }} RoomPageDependencies `claim`: make this tab the one that receives; false where another one does. `breakOff`: tell
 *   that a part of the page did not load
 */

/** What the page knows of the room, and what a person does about it. */
export class RoomPage {
  #dependencies;
  #view;
  #wakeLock;
  /** @type {RoomWatch | null} */
  #watch = null;
  /** @type {Assignment | null} as this page saw it before it joined */
  #seen = null;
  /** @type {RoomState | null} */
  #state = null;
  /** @type {number} page time at which `#state` came, milliseconds */
  #heardMs = 0;
  #count = 0;
  #isJoining = false;
  /** From leaving on, until the next Join: a seat that the server still has is not taken again. */
  #hasLeft = false;
  /** @type {"second_tab" | null} */
  #problem = null;
  #forgetting;
  /** @type {any} */
  #timer = null;

  /** @param {RoomPageDependencies} dependencies */
  constructor(dependencies) {
    const { document, speech } = dependencies;
    this.#dependencies = dependencies;
    this.#view = new RoomView(document, speech);
    this.#wakeLock = new WakeLock(navigator, (awake) => dependencies.send({ kind: "awake", awake }));
    this.#forgetting = new Forgetting({
      request: () => dependencies.device.request("DELETE", "/api/deliveries"),
      onGone: () => this.#leave(),
      onChange: () => dependencies.drawSoon(),
    });
    this.#on("room-join", "submit", () => this.#join());
    this.#on("check-again", "click", () => dependencies.send({ kind: "check" }));
    this.#on("leave", "click", () => this.#leave());
    this.#on("forget", "click", () => this.#forgetting.press());
    const code = new URLSearchParams(location.search).get("code") ?? "";
    /** @type {HTMLInputElement} */ (byId(document, "join-code")).value = code;
  }

  /** Look for an experiment in this device's name. */
  start() {
    const { device, timers, drawSoon } = this.#dependencies;
    this.#watch = new RoomWatch({
      device,
      timers,
      onAssignment: (assignment) => {
        this.#seen = assignment;
        if (assignment.you.joined) this.#onSeat();
        drawSoon();
      },
    });
    if (document.visibilityState === "visible") this.#watch.start();
  }

  get state() {
    return this.#state;
  }

  get problem() {
    return this.#problem;
  }

  get isJoining() {
    return this.#isJoining;
  }

  /** Whether this phone has a seat, so that the room leads. */
  get isIn() {
    return this.#state?.step === "in";
  }

  /** Whether a trial is running here. */
  get isMeasuring() {
    return this.isIn && this.#state?.trial?.state === "running";
  }

  /** Whether there is an experiment to join. */
  get isInvited() {
    return this.#step() === "join";
  }

  /** @param {RoomState} state */
  onRoom(state) {
    const wasIn = this.isIn;
    this.#state = state;
    this.#heardMs = performance.now();
    if (state.step !== "joining") this.#isJoining = false;
    this.#count = state.trial?.received_count ?? 0;
    if (state.step === "in") this.#onIn();
    else if (wasIn || state.step === "out") this.#onOut(state);
    this.#tick();
  }

  /** @param {number} count notifications of the trial that are here */
  onCount(count) {
    this.#count = count;
  }

  /** Another tab has this phone's seat by now. @returns {boolean} whether it had one here */
  giveWay() {
    if (!this.isIn && !this.#isJoining) return false;
    this.#state = null;
    this.#isJoining = false;
    this.#problem = "second_tab";
    this.#wakeLock.release();
    this.#watch?.start();
    return true;
  }

  /** @param {import("./types.js").LifecycleEvent} event */
  onLifecycle(event) {
    if (event === "visible") {
      this.#wakeLock.renew();
      if (!this.isIn) this.#watch?.start();
    } else if (event === "hidden") {
      this.#watch?.stop();
    }
  }

  draw() {
    this.#forgetting.follow(this.#step());
    this.#view.draw({
      step: this.#step(),
      assignment: (this.isIn ? this.#state?.assignment : this.#seen) ?? this.#seen,
      room: this.#state,
      count: this.#count,
      sinceMs: performance.now() - this.#heardMs,
      isJoining: this.#isJoining,
      problem: this.#problem,
      forgetting: this.#forgetting.state,
      wakeLock: this.#wakeLock.isHeld ? "held" : this.#wakeLock.isPossible ? "waiting" : "impossible",
      isSecure: isSecureContext,
    });
  }

  #step() {
    return stepOf(this.#state, this.#seen, this.#forgetting.state);
  }

  #onIn() {
    this.#watch?.stop();
    this.#wakeLock.hold();
  }

  /** @param {RoomState} state */
  #onOut({ assignment }) {
    // The worker's last word is newer than what this page saw before it joined.
    if (assignment !== null) this.#seen = { ...assignment, you: { ...assignment.you, joined: false } };
    this.#wakeLock.release();
    this.#watch?.start();
  }

  /** Draw on between two words of the worker, as long as a countdown runs or time is shown. */
  #tick() {
    const { timers, drawSoon } = this.#dependencies;
    timers.clearTimeout(this.#timer);
    drawSoon();
    if (this.#state?.step !== "in") return;
    const isCounting = this.#state.countdown_in_ms !== null;
    if (isCounting) this.#timer = timers.setTimeout(() => this.#tick(), COUNTDOWN_LOOK_MS);
  }

  /** The server has this phone in the room, and this page has not. */
  #onSeat() {
    if (this.#hasLeft) {
      // It has not heard of it: the request was lost, or is under way.
      this.#dependencies.device.request("DELETE", "/api/participants/me");
    } else if (!this.isIn && !this.#isJoining && this.#problem === null) {
      // Reloaded, or thrown out of memory and back: the seat is still this phone's.
      this.#join();
    }
  }

  #leave() {
    this.#hasLeft = true;
    this.#dependencies.send({ kind: "leave" });
  }

  async #join() {
    const { drawSoon, breakOff } = this.#dependencies;
    if (this.#isJoining || this.isIn) return;
    this.#isJoining = true;
    this.#hasLeft = false;
    this.#problem = null;
    this.#forgetting.reset();
    drawSoon();
    try {
      await this.#enter();
    } catch {
      breakOff();
    }
    drawSoon();
  }

  /** What was to be loaded did not come: nobody is about to join any more. */
  breakOff() {
    this.#isJoining = false;
  }

  async #enter() {
    const { document, config, device, send, claim } = this.#dependencies;
    await device.register();
    if (await claim()) {
      const { readFacts } = await import("./device_facts.js");
      const facts = await readFacts(navigator);
      const field = (/** @type {string} */ id) =>
        /** @type {HTMLInputElement} */ (byId(document, id)).value.trim();
      send({
        kind: "join",
        config,
        identity: device.identity,
        visible: document.visibilityState === "visible",
        wish: { name: field("join-name"), model: facts.model ?? "", join_code: field("join-code") },
        facts,
      });
    } else {
      this.#isJoining = false;
      this.#problem = "second_tab";
    }
  }

  /**
   * @param {string} id
   * @param {string} event
   * @param {() => void} action
   */
  #on(id, event, action) {
    byId(this.#dependencies.document, id).addEventListener(event, (happened) => {
      happened.preventDefault();
      action();
    });
  }
}
