/**
 * Questions to the server's clock: over a WebSocket to the clock process, or else over HTTP from the page's origin.
 *
 * The WebSocket has a port of its own, which a firewall may close. Whatever keeps it from opening, HTTP takes its
 * place within a second, and `kind` says which of the two answers.
 */

import { timeoutSignal } from "./timeout.js";

/** @typedef {import("./types.js").ClockChannelKind} ClockChannelKind */
/** @typedef {import("./types.js").Timers} Timers */
/** @typedef {{probe: import("./clockmodel.js").Probe, timebase: string}} ClockAnswer */
/** @typedef {{received_us: number, sent_us: number, timebase: string}} ServerStamps */

/** A phone behind a firewall has a clock within a second: this, and room for the first HTTP answer. */
export const OPEN_TIMEOUT_MS = 900;

/** An answer that takes longer would bound nothing. */
export const ANSWER_TIMEOUT_MS = 2_000;

/** Probes are numbered from 1. */
const NUDGE = '{"probe":0}';

/** `WebSocket.OPEN`, which a fake need not have. */
const OPEN = 1;

/**
 * @typedef {{
 *   port: number | null, hostname: string, isSecure?: boolean, WebSocket: new (url: string) => WebSocket,
 *   fetch: (url: string, options?: RequestInit) => Promise<Response>, nowUs: () => number, timers: Timers,
 * }} ClockChannelDependencies
 */

/** One client's way to the clock. */
export class ClockChannel {
  #dependencies;
  /** @type {WebSocket | null} */
  #socket = null;
  #probeNumber = 0;
  /** @type {Map<number, {t1_us: number, resolve: (answer: ClockAnswer | null) => void}>} */
  #waiting = new Map();

  /** @param {ClockChannelDependencies} dependencies */
  constructor(dependencies) {
    this.#dependencies = dependencies;
  }

  /** @returns {ClockChannelKind} */
  get kind() {
    return this.#socket?.readyState === OPEN ? "websocket" : "http";
  }

  /**
   * Try to open the WebSocket; settles when it is open, has failed, or the time is over. Later calls try again, so
   * that a page which woke up finds its way back.
   *
   * @returns {Promise<void>}
   */
  open() {
    if (this.#dependencies.port === null || this.kind === "websocket") return Promise.resolve();
    this.close();
    const { timers } = this.#dependencies;
    return new Promise((resolve) => {
      const timer = timers.setTimeout(() => this.#giveUp(resolve), OPEN_TIMEOUT_MS);
      const settle = () => {
        timers.clearTimeout(timer);
        resolve();
      };
      const socket = this.#connect();
      this.#socket = socket;
      if (socket === null) return settle();
      socket.onopen = settle;
      socket.onerror = settle;
      socket.onclose = settle;
      socket.onmessage = (event) => this.#onAnswer(event);
    });
  }

  /**
   * Ask once. Null when no answer came in time.
   *
   * @returns {Promise<ClockAnswer | null>}
   */
  probe() {
    return this.kind === "websocket" ? this.#probeWebSocket() : this.#probeHttp();
  }

  /**
   * A packet that only keeps a radio awake: a probe that nobody waits for, since browsers send nothing smaller. Where
   * there is no WebSocket nothing is sent, as HTTP would ask the server that is being measured.
   */
  nudge() {
    if (this.kind === "websocket") this.#socket?.send(NUDGE);
  }

  close() {
    this.#socket?.close();
    this.#socket = null;
  }

  /** @param {() => void} resolve */
  #giveUp(resolve) {
    this.close();
    resolve();
  }

  /** @returns {WebSocket | null} null where the browser refuses */
  #connect() {
    const { WebSocket, hostname, port, isSecure } = this.#dependencies;
    try {
      return new WebSocket(`${isSecure ? "wss" : "ws"}://${hostname}:${port}/`);
    } catch {
      return null;
    }
  }

  /** @returns {Promise<ClockAnswer | null>} */
  #probeWebSocket() {
    const { timers, nowUs } = this.#dependencies;
    const number = (this.#probeNumber += 1);
    return new Promise((resolve) => {
      const timer = timers.setTimeout(() => settle(null), ANSWER_TIMEOUT_MS);
      const settle = (/** @type {ClockAnswer | null} */ answer) => {
        timers.clearTimeout(timer);
        this.#waiting.delete(number);
        resolve(answer);
      };
      const question = JSON.stringify({ probe: number });
      this.#waiting.set(number, { t1_us: nowUs(), resolve: settle });
      this.#socket?.send(question);
    });
  }

  /** @param {MessageEvent} event */
  #onAnswer(event) {
    const t4_us = this.#dependencies.nowUs();
    const answer = JSON.parse(event.data);
    const question = this.#waiting.get(answer.probe);
    question?.resolve(toAnswer(question.t1_us, answer, t4_us));
  }

  /** @returns {Promise<ClockAnswer | null>} */
  async #probeHttp() {
    const { fetch, nowUs } = this.#dependencies;
    try {
      const t1_us = nowUs();
      const response = await fetch("/api/clock", {
        cache: "no-store",
        signal: timeoutSignal(ANSWER_TIMEOUT_MS),
      });
      const t4_us = nowUs();
      return response.ok ? toAnswer(t1_us, await response.json(), t4_us) : null;
    } catch {
      // No connection or no answer in time: the caller counts the silence.
      return null;
    }
  }
}

/**
 * @param {number} t1_us
 * @param {ServerStamps} stamps
 * @param {number} t4_us
 * @returns {ClockAnswer}
 */
function toAnswer(t1_us, { received_us, sent_us, timebase }, t4_us) {
  return { probe: { t1_us, t2_us: received_us, t3_us: sent_us, t4_us }, timebase };
}
