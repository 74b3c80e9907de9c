/**
 * Samples on their way to the server, in batches that may be sent twice and count once.
 *
 * 1. One batch is under way at a time, in the order of arrival.
 * 2. A batch that met no answer, or an error of the server, is sent again with the same `batch_id` after a growing wait.
 * 3. A batch that the server refuses for good is dropped and counted.
 * 4. At most `WAITING_MAX` samples wait behind the batch that is under way; beyond that the oldest is dropped and counted.
 * 5. What waits is kept in the store, where there is one, so that it survives a reload of the page.
 */

import { backoffMs } from "./backoff.js";
import { countForBatch, probeBatches } from "./batch.js";

/** @typedef {import("./batch.js").Waiting} Waiting */
/** @typedef {import("./types.js").Batch} Batch */
/** @typedef {import("./types.js").BatchContext} BatchContext */
/** @typedef {import("./types.js").Conduct} Conduct */
/** @typedef {import("./types.js").Sample} Sample */
/** @typedef {import("./types.js").Timers} Timers */
/** @typedef {"accepted" | "retry" | "refused"} SendResult */

/** @typedef {{under_way: Batch | null, waiting: Waiting[]}} Kept what survives a reload */

/** A quarter of an hour at two notifications per second without a server; about 1 MB. */
export const WAITING_MAX = 2_000;

/** Enough to gather the samples of a burst into one request. */
export const GATHER_MS = 2_000;

/** What waits and what became of the rest. */
export class Outbox {
  /** @type {Waiting[]} */
  #waiting = [];
  /** @type {Batch | null} */
  #underWay = null;
  #isSending = false;
  #failedCount = 0;
  #counts = { sent_count: 0, dropped_count: 0, refused_count: 0 };
  #dependencies;
  /** @type {any} */
  #timer = null;
  /** @type {(() => void)[]} who waits until nothing waits */
  #onEmpty = [];

  /**
   * @param {{
   *   send: (batch: Batch) => Promise<SendResult>, keep?: (kept: Kept) => void, newBatchId: () => string,
   *   onChange: () => void, timers: Timers, random: () => number,
   * }} dependencies `send` settles with what became of the batch, and never fails; `keep` gets what waits when it
   *   has changed
   */
  constructor(dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Take back what waited when the page was left.
   *
   * @param {Kept | null} kept
   */
  restore(kept) {
    if (kept === null) return;
    this.#underWay ??= kept.under_way;
    this.#waiting.unshift(...kept.waiting);
    this.#trim();
    this.#keep();
    if (this.#hasWork() && this.#timer === null && !this.#isSending) this.#sendIn(GATHER_MS);
  }

  /**
   * @param {Sample} sample
   * @param {BatchContext} context
   */
  add(sample, context) {
    this.#put({ sample, context });
  }

  /**
   * How the phone behaved in a trial: a batch of its own, without samples.
   *
   * @param {Conduct} conduct
   * @param {BatchContext} context
   */
  addConduct(conduct, context) {
    this.#put({ conduct, context });
  }

  /**
   * What the trial's delays were read by: batches of their own, without samples.
   *
   * @param {{timebase: string, stamps: import("./types.js").ProbeStamps}[]} taken
   * @param {BatchContext} context
   */
  addProbes(taken, context) {
    for (const { timebase, probes } of probeBatches(taken))
      this.#put({ probes, context: { ...context, timebase } });
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
    else for (const resolve of this.#onEmpty.splice(0)) resolve();
  }

  /**
   * Settles when everything that waits has been sent, however often that has to be tried.
   *
   * @returns {Promise<void>}
   */
  emptied() {
    if (!this.#hasWork()) return Promise.resolve();
    const emptied = new Promise((resolve) => this.#onEmpty.push(() => resolve(undefined)));
    this.flush();
    return /** @type {Promise<void>} */ (emptied);
  }

  /** The batch that is on its way now, for a last way out of a page that is being left. */
  get underWay() {
    return this.#underWay;
  }

  /** Tries that failed since the last batch that arrived. */
  get failedCount() {
    return this.#failedCount;
  }

  /** @returns {import("./types.js").OutboxStatus} */
  status() {
    const underWay = this.#underWay?.samples.length ?? 0;
    const waiting = this.#waiting.filter(({ sample }) => sample !== undefined).length;
    return { ...this.#counts, waiting_count: waiting + underWay };
  }

  /** @param {Waiting} waiting */
  #put(waiting) {
    this.#waiting.push(waiting);
    this.#trim();
    this.#keep();
    if (this.#timer === null && !this.#isSending) this.#sendIn(GATHER_MS);
  }

  #trim() {
    const dropped = this.#waiting.splice(0, this.#waiting.length - WAITING_MAX);
    this.#counts.dropped_count += dropped.length;
  }

  #keep() {
    this.#dependencies.keep?.({ under_way: this.#underWay, waiting: this.#waiting });
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
    if (this.#underWay === null) {
      this.#underWay = this.#takeBatch();
      // With its id, so that the same samples never go out under two.
      this.#keep();
    }
    const batch = this.#underWay;
    const result = await this.#dependencies.send(batch);
    if (result === "retry") {
      this.#failedCount += 1;
    } else {
      this.#counts[result === "accepted" ? "sent_count" : "refused_count"] += batch.samples.length;
      this.#failedCount = 0;
      this.#underWay = null;
      this.#keep();
    }
    this.#dependencies.onChange();
    return result !== "retry";
  }

  /** @returns {Batch} */
  #takeBatch() {
    const taken = this.#waiting.splice(0, countForBatch(this.#waiting));
    const samples = taken.flatMap(({ sample }) => (sample === undefined ? [] : [sample]));
    const [{ conduct, probes, context }] = taken;
    const batch_id = this.#dependencies.newBatchId();
    return {
      ...context,
      batch_id,
      samples,
      ...(conduct === undefined ? {} : { conduct }),
      ...(probes === undefined ? {} : { probes }),
    };
  }
}
