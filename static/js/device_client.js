/** This device towards the server: who it is, and requests in its name. */

import { timeoutSignal } from "./timeout.js";

/** @typedef {import("./types.js").Identity} Identity */
/** @typedef {(url: string, options?: RequestInit) => Promise<Response>} Fetch */

/** What a request came to; `status` 0: no whole answer, or none in time. `body` is null where it is no JSON. */
/** @typedef {{status: number, body: any}} Answer */

/** A server that is stuck must not hold whoever asks for ever. */
const ANSWER_TIMEOUT_MS = 10_000;

/** One device; it registers when the server does not know it. */
export class DeviceClient {
  #fetch;
  #language;
  #identity;
  #onIdentity;
  #obtain;
  /** @type {Identity | null} the last one that the server did not know */
  #stale = null;
  /** @type {Promise<void> | null} who asks at the same time waits for the same answer, and is the same device */
  #registering = null;

  /**
   * @param {{
   *   fetch: Fetch, identity: Identity | null, language?: string, onIdentity?: (identity: Identity) => void,
   *   obtain?: (stale: Identity | null) => Promise<Identity | null>,
   * }} dependencies `language` of the page, which may be another than the browser's; `onIdentity` gets a new identity,
   *   to be kept for the next visit; `obtain`: where another client keeps this device's identity, which is then the
   *   only one that registers
   */
  constructor({ fetch, identity, language, onIdentity = () => {}, obtain = () => this.#registered() }) {
    this.#fetch = fetch;
    this.#language = language;
    this.#identity = identity;
    this.#onIdentity = onIdentity;
    this.#obtain = obtain;
  }

  get identity() {
    return this.#identity;
  }

  /** Take over what another client of this device has learned. @param {Identity | null} identity */
  take(identity) {
    this.#identity = identity ?? this.#identity;
  }

  /**
   * Make sure that the server knows this device.
   *
   * @returns {Promise<Identity | null>} null when the server did not answer
   */
  async register() {
    if (this.#identity === null) {
      this.#registering ??= this.#become();
      await this.#registering;
    }
    return this.#identity;
  }

  /**
   * Another identity than one that the server does not know, unless there is another already.
   *
   * @param {Identity | null} stale
   * @returns {Promise<Identity | null>} null when the server did not answer
   */
  renew(stale) {
    if (this.#identity?.device === stale?.device) {
      this.#stale = stale;
      this.#identity = null;
    }
    return this.register();
  }

  /**
   * A request as this device. A server that was started anew may have forgotten it: then it registers, and asks again.
   *
   * @param {"GET" | "POST" | "DELETE"} method
   * @param {string} path
   * @param {((identity: Identity) => object) | object} [body] a function where the body names the device
   * @returns {Promise<Answer>}
   */
  async request(method, path, body) {
    const identity = await this.register();
    const answer = await this.#askAs(identity, method, path, body);
    if (answer.status !== 401) return answer;
    return this.#askAs(await this.renew(identity), method, path, body);
  }

  async #become() {
    const found = await this.#obtain(this.#stale);
    this.#registering = null;
    if (found === null) return;
    this.#identity = found;
    this.#onIdentity(found);
  }

  /** @returns {Promise<Identity | null>} */
  async #registered() {
    const { body } = await this.#ask("POST", "/api/devices", {}, null);
    return body?.token ? { device: body.device, token: body.token } : null;
  }

  /**
   * @param {Identity | null} identity
   * @param {string} method
   * @param {string} path
   * @param {((identity: Identity) => object) | object} [body]
   * @returns {Promise<Answer>}
   */
  async #askAs(identity, method, path, body) {
    if (identity === null) return { status: 0, body: null };
    return this.#ask(
      method,
      path,
      typeof body === "function" ? body(identity) : body,
      `${identity.device}.${identity.token}`,
    );
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {object | undefined} body
   * @param {string | null} token
   * @returns {Promise<Answer>}
   */
  async #ask(method, path, body, token) {
    const fetch = this.#fetch;
    try {
      const response = await fetch(path, {
        method,
        headers: {
          ...(body && { "Content-Type": "application/json" }),
          ...(token && { Authorization: `Bearer ${token}` }),
          ...(this.#language && { "Accept-Language": this.#language }),
        },
        body: JSON.stringify(body),
        cache: "no-store",
        signal: timeoutSignal(ANSWER_TIMEOUT_MS),
      });
      const said = await response.json().catch((/** @type {Error} */ error) => {
        // What breaks off is no answer, whatever its status was.
        if (error.name !== "SyntaxError") throw error;
        return null;
      });
      return { status: response.status, body: said };
    } catch {
      // No connection, or no whole answer in time: whoever asked decides whether to try again.
      return { status: 0, body: null };
    }
  }
}
