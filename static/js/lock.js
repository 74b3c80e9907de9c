/**
 * One stream per device: a second tab of the same browser finds out and holds back.
 *
 * A browser opens six HTTP/1.1 connections to an origin over all its tabs; a stream keeps one for good, and six of them
 * stop every other request. `navigator.locks` would do but is missing on plain http, so the tabs ask each other: who
 * wants the stream says so and waits; who has it answers. Of two that ask at once the smaller name wins. A tab that is
 * frozen cannot answer: it gives the stream up before, and asks for it when it wakes.
 */

/** Long enough for a tab in the background to answer, short enough for a press of a button. */
export const ANSWER_WAIT_MS = 300;

/** @typedef {{kind: "claim" | "held", name: string}} LockMessage */

/** This tab's part in the agreement. */
export class StreamLock {
  #channel;
  #name;
  #timers;
  /** @type {"free" | "claiming" | "held"} */
  #state = "free";
  /** @type {(() => void) | null} */
  #refuse = null;
  #isAsleep = false;

  /**
   * @param {Pick<BroadcastChannel, "postMessage"> & Partial<Pick<BroadcastChannel, "onmessage">>} channel
   * @param {string} name random, another in each tab
   * @param {import("./types.js").Timers} timers
   */
  constructor(channel, name, timers) {
    this.#channel = channel;
    this.#name = name;
    this.#timers = timers;
    channel.onmessage = (event) => this.#onMessage(event.data);
  }

  /**
   * Ask for the stream.
   *
   * @returns {Promise<boolean>} whether this tab may have it; it then does, until `release`
   */
  claim() {
    this.#state = "claiming";
    return new Promise((resolve) => {
      const settle = (/** @type {boolean} */ granted) => {
        this.#timers.clearTimeout(timer);
        this.#refuse = null;
        this.#state = granted ? "held" : "free";
        resolve(granted);
      };
      const timer = this.#timers.setTimeout(() => settle(true), ANSWER_WAIT_MS);
      this.#refuse = () => settle(false);
      this.#say("claim", this.#name);
    });
  }

  /** Whether this tab has the stream. */
  get isHeld() {
    return this.#state === "held";
  }

  release() {
    this.#state = "free";
  }

  /** This tab is about to be frozen. */
  sleep() {
    if (!this.isHeld) return;
    this.#isAsleep = true;
    this.release();
  }

  /** @returns {Promise<boolean>} whether this tab may go on as before; false where another one has its stream by now */
  async wake() {
    const hadIt = this.#isAsleep;
    this.#isAsleep = false;
    return !hadIt || this.claim();
  }

  /** @param {LockMessage} message */
  #onMessage({ kind, name }) {
    if (kind === "held") {
      if (name === this.#name) this.#refuse?.();
    } else if (this.#state === "held") {
      this.#say("held", name);
    } else if (this.#state === "claiming") {
      if (this.#name < name) this.#say("held", name);
      else this.#refuse?.();
    }
  }

  /**
   * @param {LockMessage["kind"]} kind
   * @param {string} name of the tab that wants the stream
   */
  #say(kind, name) {
    this.#channel.postMessage({ kind, name });
  }
}
