/**
 * What a person's doing has shown: each judge looks at what has happened since its step began. Pure.
 *
 * A judge answers null as long as there is nothing to say; it is asked again and again.
 */

/** @typedef {import("./steps.js").Answer} Answer */
/** @typedef {import("../types.js").Transport} Transport */

/**
 * @typedef {{at_us: number} & (
 *   {kind: "hidden" | "visible" | "freeze" | "offline" | "online"}
 *   | {kind: "up" | "down", transport: Transport}
 *   | {kind: "arrival", transport: Transport, id: string, delay_ms: number | null}
 *   | {kind: "turned", too_wide_px: number}
 * )} Happening
 */

/** @typedef {{happenings: readonly Happening[], isUp: Record<Transport, boolean>, now_us: number}} Evidence */

/** @typedef {(evidence: Evidence) => Answer | null} Judge */

/** Long enough to be no slip of the finger; people are asked for twenty seconds. */
const AWAY_S_MIN = 10;

/** Chrome for Android freezes a hidden page after one minute; people are asked for seventy seconds. */
const LOCKED_S_MIN = 60;

/** Both transports come back within some tries of theirs; what takes longer, a person would call broken. */
export const BACK_S_MAX = 60;

/** @type {Record<string, Judge>} */
export const JUDGES = {
  receive: received,
  hidden: (evidence) => wentAway(evidence, AWAY_S_MIN),
  lock: (evidence) => wentAway(evidence, LOCKED_S_MIN),
  airplane: cutOff,
  receive_again: received,
  rotate: turned,
};

/** One notification over both transports. @type {Judge} */
function received({ happenings }) {
  const arrivals = happenings.flatMap((each) => (each.kind === "arrival" ? [each] : []));
  for (const first of arrivals) {
    const second = arrivals.find(({ id, transport }) => id === first.id && transport !== first.transport);
    if (second === undefined) continue;
    const figures = /** @type {Record<string, number>} */ ({});
    for (const { transport, delay_ms } of [first, second])
      if (delay_ms !== null) figures[`${transport}_ms`] = delay_ms;
    return { state: "passed", figures };
  }
  return null;
}

/**
 * Hidden for so long, then visible again with both transports up.
 *
 * @param {Evidence} evidence
 * @param {number} seconds
 * @returns {Answer | null}
 */
function wentAway(evidence, seconds) {
  const { happenings } = evidence;
  const back = happenings.filter(({ kind }) => kind === "visible").slice(-1)[0];
  if (back === undefined) return null;
  const left = happenings.filter(({ kind, at_us }) => kind === "hidden" && at_us <= back.at_us).slice(-1)[0];
  if (left === undefined || back.at_us - left.at_us < seconds * 1e6) return null;
  const frozen = happenings.some(({ kind, at_us }) => kind === "freeze" && at_us >= left.at_us);
  return cameBack(evidence, left.at_us, back.at_us, { frozen: Number(frozen) });
}

/** The network was away and is there again, by the browser's word or by what became of a connection. @type {Judge} */
function cutOff(evidence) {
  const { happenings } = evidence;
  const cut = happenings.find(({ kind }) => kind === "offline" || kind === "down");
  if (cut === undefined) return null;
  const back = happenings.find(
    ({ kind, at_us }) => (kind === "online" || kind === "up") && at_us > cut.at_us,
  );
  return back === undefined ? null : cameBack(evidence, cut.at_us, back.at_us, {});
}

/**
 * @param {Evidence} evidence
 * @param {number} leftUs
 * @param {number} backUs
 * @param {Record<string, number>} more
 * @returns {Answer | null}
 */
function cameBack({ happenings, isUp, now_us }, leftUs, backUs, more) {
  const figures = { away_s: seconds(backUs - leftUs), ...more };
  if (isUp.sse && isUp.socketio) {
    const upUs = happenings.filter(({ kind }) => kind === "up").map(({ at_us }) => at_us);
    return { state: "passed", figures: { ...figures, back_s: seconds(Math.max(backUs, ...upUs) - backUs) } };
  }
  return now_us - backUs > BACK_S_MAX * 1e6 ? { state: "failed", reason: "not_back", figures } : null;
}

/** Turned at least once, and nothing was wider than the screen. @type {Judge} */
function turned({ happenings }) {
  const turns = happenings.flatMap((each) => (each.kind === "turned" ? [each.too_wide_px] : []));
  if (turns.length === 0) return null;
  const tooWide = Math.max(...turns);
  return tooWide > 0
    ? { state: "failed", reason: "too_wide", figures: { too_wide_px: tooWide } }
    : { state: "passed" };
}

/** With one digit. @param {number} us */
function seconds(us) {
  return Math.round(us / 1e5) / 10;
}
