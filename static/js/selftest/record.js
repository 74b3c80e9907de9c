/** The answers, kept in this browser over a reload and posted to the server after each change. */

import { root } from "../root.js";

/** @typedef {{steps: ReturnType<import("./steps.js").Protocol["record"]>, remarks: string}} Kept */

const KEY = `siar.selftest${root}`;

/** One post for a word that is being typed. */
const PAUSE_MS = 800;

/** In airplane mode, among others. */
const RETRY_MS = 3_000;

/** @typedef {"idle" | "saving" | "saved" | "waiting" | "refused"} Saving */

export class Record {
  #dependencies;
  /** @type {any} */
  #timer;
  #change = 0;
  #isPosting = false;
  /** Settles when no post is under way. */
  #posted = Promise.resolve();

  /**
   * @param {{
   *   storage: () => Storage, timers: import("../types.js").Timers,
   *   post: (kept: Kept) => Promise<number>, onSaving: (saving: Saving) => void,
   * }} dependencies `post` answers the status; 0: no answer
   */
  constructor(dependencies) {
    this.#dependencies = dependencies;
  }

  /** @returns {{steps: unknown, remarks: string, reloading: boolean}} */
  load() {
    try {
      const { steps, remarks, reloading } = JSON.parse(this.#dependencies.storage().getItem(KEY) ?? "{}");
      return { steps, remarks: typeof remarks === "string" ? remarks : "", reloading: reloading === true };
    } catch {
      // Storage is blocked or holds something else: the test begins anew.
      return { steps: [], remarks: "", reloading: false };
    }
  }

  /**
   * Keep it here at once, and post it soon.
   *
   * @param {Kept} kept
   * @param {{reloading?: boolean}} [page] whether the person is about to reload the page
   */
  keep(kept, { reloading = false } = {}) {
    const { storage, onSaving } = this.#dependencies;
    try {
      storage().setItem(KEY, JSON.stringify({ ...kept, reloading }));
    } catch {
      // Storage is blocked or full: what was answered lasts as long as the page, and at the server.
    }
    if (kept.steps.length === 0 && kept.remarks === "") return;
    this.#change += 1;
    onSaving("saving");
    this.#postIn(PAUSE_MS, kept);
  }

  /** Post nothing more until something is kept again; settles when no post is under way. */
  async rest() {
    this.#dependencies.timers.clearTimeout(this.#timer);
    this.#change += 1;
    await this.#posted;
  }

  /**
   * @param {number} waitMs
   * @param {Kept} kept
   */
  #postIn(waitMs, kept) {
    const { timers } = this.#dependencies;
    timers.clearTimeout(this.#timer);
    this.#timer = timers.setTimeout(() => {
      if (this.#isPosting) this.#postIn(PAUSE_MS, kept);
      else this.#posted = this.#post(kept);
    }, waitMs);
  }

  /** @param {Kept} kept */
  async #post(kept) {
    const { post, onSaving } = this.#dependencies;
    const change = this.#change;
    this.#isPosting = true;
    const status = await post(kept);
    this.#isPosting = false;
    if (change !== this.#change) return; // A newer one is on its way.
    if (status === 200) onSaving("saved");
    else if (status === 0 || status === 429 || status >= 500) {
      onSaving("waiting");
      this.#postIn(RETRY_MS, kept);
    } else onSaving("refused");
  }
}
