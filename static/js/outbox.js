/**
 * Samples on their way to the server, in batches that may be sent twice and count once.
 *
 * 1. One batch is under way at a time, in the order of arrival.
 * 2. A batch that met no answer, or an error of the server, is sent again with the same `batch_id` after a growing wait.
 * 3. A batch that the server refuses for good is dropped and counted.
 * 4. At most `WAITING_MAX` samples wait; beyond that the oldest is dropped and counted.
 */

import { backoffMs } from "./backoff.js";
import { countForBatch } from "./batch.js";

/** @typedef {import("./types.js").Batch} Batch */
/** @typedef {import("./types.js").BatchContext} BatchContext */
/** @typedef {import("./types.js").Sample} Sample */
/** @typedef {import("./types.js").Timers} Timers */
/** @typedef {"accepted" | "retry" | "refused"} SendResult */

/** A quarter of an hour at two notifications per second without a server; about 1 MB. */
export const WAITING_MAX = 2_000;

/** Enough to gather the samples of a burst into one request. */
export const GATHER_MS = 2_000;

/** What waits and what became of the rest. */
export class Outbox {
  /** @type {import("./batch.js").Waiting[]} */
  #waiting = [];
  /** @type {Batch | null} */
  #underWay = null;
  #isSending = false;
  #failedCount = 0;
  #counts = { sent_count: 0, dropped_count: 0, refused_count: 0 };
  #dependencies;
  /** @type {any} */
  #timer = null;

  /**
   * @param {{
   *   send: (batch: Batch) => Promise<SendResult>, newBatchId: () => string, onChange: () => void,
   *   timers: Timers, random: () => number,
   * }} dependencies `send` settles with what became of the batch, and never fails
   */
  constructor(dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * @param {Sample} sample
   * @param {BatchContext} context
   */
  add(sample, context) {
    this.#waiting.push({ sample, context });
    if (this.#waiting.length > WAITING_MAX) {
      this.#waiting.shift();
      this.#counts.dropped_count += 1;
    }
    if (this.#timer === null && !this.#isSending) this.#sendIn(GATHER_MS);
  }

  /** Send what waits now, without waiting for more; settles when it is sent or the first try failed. */
  async flush() {
    if (this.#isSending) return;
    this.#isSending = true;
    this.#dependencies.timers.clearTimeout(this.#timer);
    this.#timer = null;
    while (this.#hasWork() && (await this.#sendOne()));
    this.#isSending = false;
    if (this.#hasWork()) this.#sendIn(backoffMs(this.#failedCount, this.#dependencies.random));
  }

  /** Tries that failed since the last batch that arrived. */
  get failedCount() {
    return this.#failedCount;
  }

  /** @returns {import("./types.js").OutboxStatus} */
  status() {
    const underWay = this.#underWay?.samples.length ?? 0;
    return { ...this.#counts, waiting_count: this.#waiting.length + underWay };
  }

  #hasWork() {
    return this.#underWay !== null || this.#waiting.length > 0;
  }

  /** @param {number} delayMs */
  #sendIn(delayMs) {
    this.#timer = this.#dependencies.timers.setTimeout(() => this.flush(), delayMs);
  }

  /** @returns {Promise<boolean>} whether to go on with the next batch */
  async #sendOne() {
    const batch = (this.#underWay ??= this.#takeBatch());
    const result = await this.#dependencies.send(batch);
    if (result === "retry") {
      this.#failedCount += 1;
    } else {
      this.#counts[result === "accepted" ? "sent_count" : "refused_count"] += batch.samples.length;
      this.#failedCount = 0;
      this.#underWay = null;
    }
    this.#dependencies.onChange();
    return result !== "retry";
  }

  /** @returns {Batch} */
  #takeBatch() {
    const taken = this.#waiting.splice(0, countForBatch(this.#waiting));
    const samples = taken.map(({ sample }) => sample);
    return { ...taken[0].context, batch_id: this.#dependencies.newBatchId(), samples };
  }
}
