/** The wish to have deleted what was recorded about this phone: the first press asks, the second one does it. */

/** @typedef {"ask" | "doing" | "done" | "later" | "failed"} ForgettingState */

/** How far one wish is, for as long as it is to be told. */
export class Forgetting {
  #dependencies;
  /** @type {ForgettingState | null} */
  #state = null;
  /** @type {string | null} */
  #step = null;

  /**
   * @param {{
   *   request: () => Promise<import("./device_client.js").Answer>, onGone: () => void, onChange: () => void,
   * }} dependencies `onGone`: the server has freed this phone's seat
   */
  constructor(dependencies) {
    this.#dependencies = dependencies;
  }

  get state() {
    return this.#state;
  }

  /** What failed is tried again without another question, as its words say. */
  async press() {
    const before = this.#state;
    if (before === "doing") return;
    this.#become(before === "ask" || before === "failed" ? "doing" : "ask");
    if (this.#state === "ask") return;
    const { status } = await this.#dependencies.request();
    // Somebody has joined meanwhile, and is told something else.
    if (this.#state !== "doing") return;
    const isLater = status === 409 || status === 429;
    // A server that could not delete everything has forgotten the seat all the same.
    if (status === 200 || status >= 500) this.#dependencies.onGone();
    this.#become(status === 200 ? "done" : isLater ? "later" : "failed");
  }

  /**
   * In another step of the room nothing is asked any more; what became of the wish is told on outside.
   *
   * @param {import("./room_steps.js").Step} step that the page is about to show
   */
  follow(step) {
    if (step === this.#step) return;
    this.#step = step;
    const isOutside = step === "join" || step === "forgotten";
    const isOver = this.#state === "failed" ? !isOutside : this.#state === "ask" || this.#state === "later";
    if (isOver) this.#state = null;
  }

  /** A phone that joins is recorded again. */
  reset() {
    this.#state = null;
  }

  /** @param {ForgettingState} state */
  #become(state) {
    this.#state = state;
    this.#dependencies.onChange();
  }
}
