/** Posts batches in the name of this device, which it registers when the server does not know it. */

/** @typedef {import("./types.js").Batch} Batch */
/** @typedef {import("./types.js").Identity} Identity */
/** @typedef {import("./outbox.js").SendResult} SendResult */
/** @typedef {(url: string, options?: RequestInit) => Promise<Response>} Fetch */

/** A server that is stuck must not hold the outbox for ever. */
const ANSWER_TIMEOUT_MS = 10_000;

/** Too early, too many, or not now: these 4xx pass. */
const PASSING_STATUSES = new Set([408, 425, 429]);

/** The way to `POST /api/deliveries`. */
export class DeliveriesClient {
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

  /**
   * Make sure that the server knows this device.
   *
   * @returns {Promise<Identity | null>} null when the server did not answer; sending a batch tries again
   */
  async register() {
    try {
      this.#identity ??= await this.#askForIdentity();
    } catch {
      // No connection, no answer in time, or a refusal.
    }
    return this.#identity;
  }

  /**
   * @param {Batch} batch
   * @returns {Promise<SendResult>}
   */
  async send(batch) {
    const identity = await this.register();
    if (identity === null) return "retry";
    try {
      const { device, token } = identity;
      const response = await this.#post("/api/deliveries", { device, ...batch }, token);
      // The server may have been started anew and have forgotten this device: the next try registers again.
      if (response.status === 401 || response.status === 403) this.#identity = null;
      return resultOf(response.status);
    } catch {
      // No connection, or no answer in time: the outbox tries again.
      return "retry";
    }
  }

  /** @returns {Promise<Identity>} */
  async #askForIdentity() {
    const response = await this.#post("/api/devices", {}, null);
    if (!response.ok) throw new Error(`POST /api/devices answered ${response.status}`);
    const { device, token } = await response.json();
    this.#onIdentity({ device, token });
    return { device, token };
  }

  /**
   * @param {string} path
   * @param {object} body
   * @param {string | null} token
   */
  #post(path, body, token) {
    const fetch = this.#fetch;
    return fetch(path, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    });
  }
}

/**
 * @param {number} status
 * @returns {SendResult}
 */
function resultOf(status) {
  if (status >= 200 && status < 300) return "accepted";
  const isForGood = status >= 400 && status < 500 && status !== 401 && status !== 403;
  return isForGood && !PASSING_STATUSES.has(status) ? "refused" : "retry";
}
