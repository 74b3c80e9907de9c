/**
 * Looks whether there is an experiment to join, before this phone has joined one; only while the page is in front.
 *
 * The server says when to ask again: seldom while nothing is open, and not at all while others measure.
 */

/** @typedef {import("./room_types.js").Assignment} Assignment */

const RETRY_MS = 5_000;

/** One page's look at the room. */
export class RoomWatch {
  #device;
  #onAssignment;
  #timers;
  /** @type {any} */
  #timer = null;
  #isOn = false;
  #isAsking = false;

  /**
   * @param {{
   *   device: Pick<import("./device_client.js").DeviceClient, "request">, timers: import("./types.js").Timers,
   *   onAssignment: (assignment: Assignment) => void,
   * }} dependencies
   */
  constructor({ device, timers, onAssignment }) {
    this.#device = device;
    this.#timers = timers;
    this.#onAssignment = onAssignment;
  }

  start() {
    if (this.#isOn) return;
    this.#isOn = true;
    this.#ask();
  }

  stop() {
    this.#isOn = false;
    this.#timers.clearTimeout(this.#timer);
  }

  async #ask() {
    if (this.#isAsking) return;
    this.#isAsking = true;
    const { status, body } = await this.#device.request("GET", "/api/assignment");
    this.#isAsking = false;
    if (!this.#isOn) return;
    const isGood = status === 200 && body;
    if (isGood) this.#onAssignment(body);
    const nextMs = isGood ? Math.max(1_000, body.poll_after_ms) : RETRY_MS;
    this.#timer = this.#timers.setTimeout(() => this.#ask(), nextMs);
  }
}
