/** When a phone asks again what comes next. Pure. */

/** @typedef {import("./room_types.js").Assignment} Assignment */

/** When the server said nothing else, or nothing at all. */
const POLL_MS = 1_000;

/** As seldom as a phone asks a server that does not answer: it may be back any moment. */
const AWAY_MS_MAX = 8_000;

/**
 * The wait before the next question, with a part of it random, so that a room of phones does not ask as one.
 *
 * Those who rest in a round are as silent as the others, without knowing more than its end. Who has posted its own
 * part asks again soon: what is left of the drain time concerns those who miss something.
 *
 * @param {Assignment | null} assignment the last one
 * @param {{
 *   failedTries: number, trialDone: number | null, untilMs: (serverUs: number | null) => number | null,
 *   random: () => number,
 * }} phone `trialDone`: index of the last trial that it has posted
 */
export function nextInMs(assignment, { failedTries, trialDone, untilMs, random }) {
  const pollMs = assignment?.poll_after_ms ?? POLL_MS;
  const trial = assignment?.trial ?? null;
  const isDone = trial !== null && trial.index === trialDone;
  const waitMs = isDone ? Math.min(pollMs, POLL_MS) : pollMs;
  const restMs = trial?.state === "running" && !trial.take_part ? untilMs(trial.ends_us) : null;
  const awayMs = failedTries > 0 ? Math.min(AWAY_MS_MAX, POLL_MS * 2 ** failedTries) * random() : 0;
  return Math.max(waitMs * (0.8 + 0.2 * random()), awayMs, restMs ?? 0);
}
