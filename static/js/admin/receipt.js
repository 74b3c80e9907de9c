/** Follows one broadcast until everybody has reported, asking more and more slowly, and not for ever. */

import { formatCount, formatMs } from "../format.js";
import { isGood } from "./api.js";
import { isolatedName } from "./names.js";

/** @typedef {import("./types.js").Followed} Followed */
/** @typedef {import("./types.js").Speech} Speech */

const FIRST_MS = 300;

const SLOWER = 1.5;

/** Phones report every few seconds, so a second answer within three tells nothing new. */
const SLOWEST_MS = 3_000;

const FOLLOWED_MS = 45_000;

export class ReceiptFollower {
  #api;
  #timers;
  #onFollowed;
  /** @type {any} */
  #timer = null;
  #number = 0;

  /**
   * @param {{api: Pick<import("./api.js").Api, "ask">, timers: import("../types.js").Timers,
   *   onFollowed: (followed: Followed) => void}} how
   */
  constructor({ api, timers, onFollowed }) {
    this.#api = api;
    this.#timers = timers;
    this.#onFollowed = onFollowed;
  }

  /**
   * From now on this notification, and no earlier one.
   *
   * @param {string} id
   * @param {number} recipientsCount
   */
  follow(id, recipientsCount) {
    this.stop();
    const receipt = { recipients_count: recipientsCount, delivered_count: 0, slowest: null, devices: [] };
    this.#onFollowed({ receipt, is_over: recipientsCount === 0 });
    if (recipientsCount > 0) this.#askLater(id, this.#number, { waitMs: FIRST_MS, elapsedMs: 0 });
  }

  /** Follow nothing any more; an answer that is under way is not told. */
  stop() {
    this.#number += 1;
    this.#timers.clearTimeout(this.#timer);
  }

  /**
   * @param {string} id
   * @param {number} number
   * @param {{waitMs: number, elapsedMs: number}} pace
   */
  #askLater(id, number, { waitMs, elapsedMs }) {
    this.#timer = this.#timers.setTimeout(async () => {
      const answer = await this.#api.ask("GET", `/api/notifications/${encodeURIComponent(id)}/receipt`);
      if (number !== this.#number) return;
      const afterMs = elapsedMs + waitMs;
      const isGone = answer.status === 404;
      const isComplete =
        isGood(answer) && answer.data.delivered_count >= Math.max(1, answer.data.recipients_count);
      const isOver = isGone || isComplete || afterMs >= FOLLOWED_MS;
      if (isGood(answer)) this.#onFollowed({ receipt: answer.data, is_over: isOver });
      if (!isOver)
        this.#askLater(id, number, { waitMs: Math.min(waitMs * SLOWER, SLOWEST_MS), elapsedMs: afterMs });
    }, waitMs);
  }
}

/**
 * "Delivered 6 of 6, slowest 14.0 ms (Red Gecko)".
 *
 * @param {Followed} followed
 * @param {Speech} speech
 */
export function receiptWords({ receipt, is_over }, speech) {
  const { t, language } = speech;
  const { recipients_count, delivered_count, slowest } = receipt;
  const counts = {
    delivered: formatCount(delivered_count, language),
    recipients: formatCount(recipients_count, language),
  };
  if (recipients_count === 0) return t("receipt.nobody");
  if (delivered_count === 0) return t(is_over ? "receipt.silent" : "receipt.waiting", counts);
  const slowestWords =
    slowest === null
      ? ""
      : t("receipt.slowest", {
          delay: formatMs(slowest.delay_ms, language),
          name: isolatedName(slowest, speech),
        });
  const isMissing = is_over && delivered_count < recipients_count;
  return [t("receipt.delivered", counts), slowestWords, isMissing ? t("receipt.missing") : ""].join("");
}
