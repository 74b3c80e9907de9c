/** Arrivals that wait for probes of the clock behind them. */

/** @typedef {import("./types.js").Arrival} Arrival */

/** Bursts are 5 s apart; this many only wait when a whole history is replayed. */
const PENDING_MAX = 2_000;

/** A queue in the order of arrival; at its limit the oldest has to be judged with what is known. */
export class Pending {
  /** @type {Arrival[]} */
  #arrivals = [];

  get count() {
    return this.#arrivals.length;
  }

  /**
   * @param {Arrival} arrival
   * @returns {Arrival | undefined} the oldest, when it had to make room
   */
  add(arrival) {
    this.#arrivals.push(arrival);
    return this.#arrivals.length > PENDING_MAX ? this.#arrivals.shift() : undefined;
  }

  /**
   * The arrivals up to a time, which then no longer wait.
   *
   * @param {number} untilUs client time
   */
  takeUntil(untilUs) {
    const firstLater = this.#arrivals.findIndex((arrival) => arrival.received_client_us > untilUs);
    return this.#arrivals.splice(0, firstLater === -1 ? this.#arrivals.length : firstLater);
  }

  /**
   * When the page drew it; the first time counts, and a duplicate is never drawn.
   *
   * @param {string} id
   * @param {number} displayedUs client time
   */
  noteDisplayed(id, displayedUs) {
    const arrival = this.#arrivals.find(({ notification, is_new }) => is_new && notification.id === id);
    if (arrival) arrival.displayed_client_us ??= displayedUs;
  }
}
