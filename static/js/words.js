/** What the state says in words. Pure: state and catalogue in, text out. */

import { formatBoundMs, formatCount, formatMs } from "./format.js";

/** @typedef {import("./types.js").ClockStatus} ClockStatus */
/** @typedef {import("./types.js").OutboxStatus} OutboxStatus */
/** @typedef {import("./types.js").TallyReading} TallyReading */
/** @typedef {import("./types.js").WorkerState} WorkerState */
/** @typedef {{t: import("./texts.js").Translate, language: string}} Speech */

/**
 * @param {Pick<WorkerState, "phase" | "transport">} state
 * @param {Speech} speech
 */
export function statusWords({ phase, transport }, { t }) {
  return t(`status.${phase}`, { transport: transport === null ? "" : t(`transport.${transport}`) });
}

/**
 * @param {{delay_ms: number, bound_ms: number} | null} reading
 * @param {Speech} speech
 */
export function delayWords(reading, { t, language }) {
  if (reading === null) return t("newest.delay_unknown");
  return t("newest.delay_value", {
    delay: formatMs(reading.delay_ms, language),
    bound: formatBoundMs(reading.bound_ms, language),
  });
}

/**
 * The median, and what it is of.
 *
 * @param {TallyReading["median"]} median
 * @param {Speech} speech
 * @returns {[figure: string, note: string]}
 */
export function medianWords(median, { t, language }) {
  if (median === null) return [t("delay.none"), t("delay.median_none")];
  const figure = t("delay.median", {
    delay: formatMs(median.delay_ms, language),
    bound: formatBoundMs(median.bound_ms, language),
  });
  return [figure, t("delay.median_of", { count: formatCount(median.sample_count, language) })];
}

/**
 * Which samples are not in the median, and why; empty when all are.
 *
 * @param {TallyReading["left_out"]} leftOut
 * @param {Speech} speech
 */
export function leftOutWords(leftOut, { t, language }) {
  const reasons = Object.entries(leftOut).map(([state, count]) =>
    t(`state.${state}`, { count: formatCount(count, language) }),
  );
  return reasons.length === 0 ? "" : t("delay.left_out", { reasons: reasons.join(", ") });
}

/**
 * What is missing without being lost for certain; empty when nothing is.
 *
 * @param {number} unknownCount
 * @param {Speech} speech
 */
export function unknownWords(unknownCount, { t, language }) {
  return unknownCount === 0 ? "" : t("count.unknown", { count: formatCount(unknownCount, language) });
}

/**
 * @param {ClockStatus} clock
 * @param {Speech} speech
 */
export function clockWords({ state, bound_us }, { t, language }) {
  const bound = bound_us === null ? "" : formatBoundMs(bound_us / 1000, language);
  return t(`clock.${state}`, { bound });
}

/**
 * @param {OutboxStatus} outbox
 * @param {Speech} speech
 */
export function outboxWords({ sent_count, waiting_count, dropped_count, refused_count }, { t, language }) {
  const count = (/** @type {number} */ value) => formatCount(value, language);
  const parts = [t("outbox.value", { sent: count(sent_count), waiting: count(waiting_count) })];
  if (dropped_count > 0) parts.push(t("outbox.dropped", { count: count(dropped_count) }));
  if (refused_count > 0) parts.push(t("outbox.refused", { count: count(refused_count) }));
  return parts.join("; ");
}
