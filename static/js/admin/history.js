/** The newest of the operator's notifications, from a history that lists them oldest first. */

import { isGood } from "./api.js";

/** @typedef {import("./types.js").Sent} Sent */

const WANTED_COUNT = 20;

/** Trials take offsets too, so the newest broadcasts may lie far back: each step looks ten times as far. */
const STEPS = [100, 1_000, 10_000];

const LIMIT = 1_000;

/**
 * @param {Pick<import("./api.js").Api, "ask">} api
 * @returns {Promise<Sent[]>}
 */
export async function readHistory(api) {
  const first = await api.ask("GET", "/api/notifications?limit=1");
  if (!isGood(first)) return [];
  const newest = Number(first.data.position.split(".")[1]);
  /** @type {Sent[]} */
  let found = [];
  for (const step of STEPS) {
    const after = Math.max(0, newest - step);
    const answer = await api.ask("GET", `/api/notifications?after=${after}&limit=${LIMIT}`);
    const listed = isGood(answer) ? answer.data.notifications : found;
    // A full list of a longer stretch ends before the newest: what a nearer look found is better.
    if (step <= LIMIT || listed.length < LIMIT) found = listed;
    if (found.length >= WANTED_COUNT || after === 0) break;
  }
  return found.slice(-WANTED_COUNT).reverse();
}
