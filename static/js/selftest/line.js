/** Both transports, open at the same time for as long as the test lasts: what comes and goes is told as it happens. */

/** @typedef {import("../types.js").Transport} Transport */
/** @typedef {import("./judges.js").Happening} Happening */

export class Line {
  #openStream;
  #tell;
  #nowUs;
  #delayMs;
  /** @type {import("../types.js").Stream[]} */
  #streams = [];
  /** @type {Record<Transport, boolean>} */
  isUp = { sse: false, socketio: false };

  /**
   * @param {{
   *   openStream: import("../types.js").OpenStream, tell: (happening: Happening) => void, nowUs: () => number,
   *   delayMs: (dueUs: number, receivedUs: number) => number | null,
   * }} dependencies `delayMs`: null as long as the clock is not known
   */
  constructor({ openStream, tell, nowUs, delayMs }) {
    this.#openStream = openStream;
    this.#tell = tell;
    this.#nowUs = nowUs;
    this.#delayMs = delayMs;
  }

  start() {
    if (this.#streams.length === 0) this.#streams = [this.#open("sse"), this.#open("socketio")];
  }

  stop() {
    for (const stream of this.#streams.splice(0)) stream.close();
  }

  /** @param {Transport} transport */
  #open(transport) {
    return this.#openStream(
      transport,
      { lastEventId: null },
      {
        onOpen: () => this.#change(transport, true),
        onDown: () => this.#change(transport, false),
        onGap: () => {},
        onNotification: ({ id, due_us }, receivedUs) =>
          this.#tell({
            kind: "arrival",
            at_us: receivedUs,
            transport,
            id,
            delay_ms: this.#delayMs(due_us, receivedUs),
          }),
      },
    );
  }

  /**
   * @param {Transport} transport
   * @param {boolean} isUp
   */
  #change(transport, isUp) {
    if (this.isUp[transport] === isUp) return;
    this.isUp[transport] = isUp;
    this.#tell({ kind: isUp ? "up" : "down", at_us: this.#nowUs(), transport });
  }
}
