/** Keeps the screen on where the browser can: on https, and while the page is in front. */

/** The lock of one page. A browser takes it back when the page is hidden; then it is asked for again. */
export class WakeLock {
  #navigator;
  #onChange;
  /** @type {WakeLockSentinel | null} */
  #sentinel = null;
  #isWanted = false;
  /** A browser may take its time; a lock that nobody remembers would never be given back. */
  #isAsking = false;

  /**
   * @param {Navigator} navigator
   * @param {(isHeld: boolean) => void} onChange
   */
  constructor(navigator, onChange) {
    this.#navigator = navigator;
    this.#onChange = onChange;
  }

  /** Plain http has none of it. */
  get isPossible() {
    return "wakeLock" in this.#navigator;
  }

  get isHeld() {
    return this.#sentinel !== null;
  }

  /** From now on, again after each time the page was hidden. */
  async hold() {
    this.#isWanted = true;
    if (!this.isPossible || this.#isAsking || this.#sentinel !== null) return;
    this.#isAsking = true;
    try {
      const sentinel = await this.#navigator.wakeLock.request("screen");
      if (!this.#isWanted) return void sentinel.release();
      this.#sentinel = sentinel;
      sentinel.addEventListener("release", () => this.#onReleased());
      this.#onChange(true);
    } catch {
      // Hidden just now, or the battery is low: asked again when the page is back in front.
    } finally {
      this.#isAsking = false;
    }
  }

  /** The page is in front again. */
  renew() {
    if (this.#isWanted) this.hold();
  }

  release() {
    this.#isWanted = false;
    this.#sentinel?.release();
  }

  #onReleased() {
    this.#sentinel = null;
    this.#onChange(false);
  }
}
