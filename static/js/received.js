/** What came lately, newest first. */

/** @typedef {import("./view.js").Newest} Newest */

/** As many as a person looks back. */
const KEPT_MAX = 50;

/** The last notifications of this visit. */
export class Received {
  /** @type {Newest[]} */
  #all = [];

  /** @param {Newest} newest */
  add(newest) {
    this.#all.unshift(newest);
    if (this.#all.length > KEPT_MAX) this.#all.pop();
  }

  /** @returns {readonly Newest[]} */
  get all() {
    return this.#all;
  }
}
