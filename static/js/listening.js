/**
 * Whether a phone listens: because its person pressed Start, or because it waits in a room.
 *
 * A trial is the only thing that a phone receives, so listening ends before one. Between experiments a phone in the room
 * hears what the operator broadcasts; one that has left listens on only if it did before.
 */

/** @typedef {import("./session.js").Session} Session */
/** @typedef {import("./types.js").Choice} Choice */

/** One connection without a library: what a waiting phone can best do without. */
const ROOM_CHOICE = "sse";

/** The one session of listening, if there is any. */
export class Listening {
  #makeSession;
  /** @type {Session | null} */
  #session = null;
  /** @type {Choice | null} what goes on when the trials are over */
  #interrupted = null;
  #isForRoom = false;
  /** Between the wish and a session: its code is being loaded. */
  #isStarting = false;
  #isWanted = false;

  /** @param {(choice: Choice) => Promise<Session>} makeSession of a device that the server knows */
  constructor(makeSession) {
    this.#makeSession = makeSession;
  }

  /** The last session, which may be over. */
  get session() {
    return this.#session;
  }

  /**
   * Somebody pressed Start.
   *
   * @param {Choice} choice
   */
  start(choice) {
    this.#isForRoom = false;
    return this.#listen(choice);
  }

  /** Trials begin. */
  interrupt() {
    this.#isWanted = false;
    if (this.#session === null || !this.#session.isOn) return;
    if (!this.#isForRoom) this.#interrupted = this.#session.choice;
    this.#session.stop();
  }

  /**
   * Do what the room allows; it may be asked as often as one likes.
   *
   * @param {Pick<import("./participation.js").Participation, "step" | "isIdle">} participation
   */
  follow({ step, isIdle }) {
    const isOn = this.#isStarting || this.#session?.isOn === true;
    if (step === "in" && isIdle && !isOn) {
      this.#isForRoom = this.#interrupted === null;
      this.#listen(this.#interrupted ?? ROOM_CHOICE);
      this.#interrupted = null;
    } else if (step === "out" && this.#isForRoom) {
      this.#isForRoom = false;
      this.#isWanted = false;
      this.#session?.stop();
    } else if (step === "out" && this.#interrupted !== null && !isOn) {
      this.#listen(this.#interrupted);
      this.#interrupted = null;
    }
  }

  /** @param {Choice} choice */
  async #listen(choice) {
    this.#isWanted = this.#isStarting = true;
    let session;
    try {
      session = await this.#makeSession(choice);
    } finally {
      this.#isStarting = false;
    }
    this.#session = session;
    if (this.#isWanted) session.start();
    else session.stop();
  }
}
