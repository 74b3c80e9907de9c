/** The server's time as this page knows it: to within half a round trip, enough for a countdown that people watch. */

/** An old answer gives way, because the two clocks drift. */
const KEPT_US = 300_000_000;

export class ServerClock {
  #nowUs;
  /** @type {{offset_us: number, round_trip_us: number, at_us: number} | null} */
  #best = null;

  /** @param {() => number} nowUs this page's monotonic microseconds */
  constructor(nowUs) {
    this.#nowUs = nowUs;
  }

  /**
   * An answer that carried the server's time. The one with the shortest way counts.
   *
   * @param {number} serverUs
   * @param {number} askedUs
   */
  onAnswer(serverUs, askedUs) {
    const now = this.#nowUs();
    const roundTripUs = now - askedUs;
    const best = this.#best;
    if (best && best.round_trip_us <= roundTripUs && now - best.at_us < KEPT_US) return;
    this.#best = { offset_us: serverUs - (askedUs + now) / 2, round_trip_us: roundTripUs, at_us: now };
  }

  /** Microseconds of the server's time; before the first answer this page's own. */
  nowUs() {
    return this.#nowUs() + (this.#best?.offset_us ?? 0);
  }
}
