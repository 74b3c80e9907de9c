/** This device towards the server: who it is, and requests in its name. */

/** @typedef {import("./types.js").Identity} Identity */
/** @typedef {(url: string, options?: RequestInit) => Promise<Response>} Fetch */

/** What a request came to; `status` 0: no answer, or none in time. `body` is null where it is no JSON. */
/** @typedef {{status: number, body: any}} Answer */

/** A server that is stuck must not hold whoever asks for ever. */
const ANSWER_TIMEOUT_MS = 10_000;

/** One device; it registers when the server does not know it. */
export class DeviceClient {
  #fetch;
  #identity;
  #onIdentity;

  /**
   * @param {{fetch: Fetch, identity: Identity | null, onIdentity: (identity: Identity) => void}} dependencies
   *   `onIdentity` gets a new identity, to be kept for the next visit
   */
  constructor({ fetch, identity, onIdentity }) {
    this.#fetch = fetch;
    this.#identity = identity;
    this.#onIdentity = onIdentity;
  }

  get identity() {
    return this.#identity;
  }

  /**
   * Make sure that the server knows this device.
   *
   * @returns {Promise<Identity | null>} null when the server did not answer
   */
  async register() {
    if (this.#identity === null) {
      const { status, body } = await this.#ask("POST", "/api/devices", {}, null);
      if (status === 201) {
        this.#identity = { device: body.device, token: body.token };
        this.#onIdentity(this.#identity);
      }
    }
    return this.#identity;
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
    const answer = await this.#askAsDevice(method, path, body);
    if (answer.status !== 401) return answer;
    this.#identity = null;
    return this.#askAsDevice(method, path, body);
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {((identity: Identity) => object) | object} [body]
   * @returns {Promise<Answer>}
   */
  async #askAsDevice(method, path, body) {
    const identity = await this.register();
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
          ...(body === undefined ? {} : { "Content-Type": "application/json" }),
          ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        cache: "no-store",
        signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
      });
      return { status: response.status, body: await response.json().catch(() => null) };
    } catch {
      // No connection, or no answer in time: whoever asked decides whether to try again.
      return { status: 0, body: null };
    }
  }
}
