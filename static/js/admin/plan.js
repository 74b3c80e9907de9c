/** An experiment's plan as the form shows it, and back. Pure. */

/** @typedef {import("./types.js").Arm} Arm */
/** @typedef {import("./types.js").Plan} Plan */
/** @typedef {import("./types.js").Preset} Preset */

/**
 * @typedef {{
 *   arms: string, radio: string, blocks: number, notifications: number, gap_ms: number, payload_bytes: number,
 * }} Fields `arms` and `radio`: keys of the form's lists
 */

/** @type {Record<string, Arm[]>} */
const ARMS = {
  both: [arm("sse"), arm("socketio")],
  aa_sse: [arm("sse", "sse.1"), arm("sse", "sse.2")],
  aa_socketio: [arm("socketio", "socketio.1"), arm("socketio", "socketio.2")],
  polling: [arm("socketio"), arm("socketio", "socketio, polling first", { polling: true })],
  compression: ["sse", "socketio"].flatMap((transport) => [
    arm(transport, transport, { compression: false }),
    arm(transport, `${transport}, compressed`, { compression: true }),
  ]),
  sse: [arm("sse")],
  socketio: [arm("socketio")],
};

/** @type {Record<string, (string | null)[]>} */
const RADIO = { as_is: [null], warm: ["warm"], both: ["idle", "warm"] };

/**
 * @param {Plan} plan
 * @returns {Fields}
 */
export function fieldsOf(plan) {
  const { blocks, notifications, payload_bytes } = plan;
  const gap_ms = Math.round(100_000 / plan.rate_hz) / 100;
  return {
    arms: armsKey(plan.arms),
    radio: radioKey(plan.arms),
    blocks,
    notifications,
    gap_ms,
    payload_bytes,
  };
}

/**
 * The plan with what the form says. Fields as they were leave what they stand for untouched: arms may have factors
 * that the form does not know.
 *
 * @param {Plan} plan
 * @param {Fields} fields
 * @returns {Plan}
 */
export function planWith(plan, fields) {
  const before = fieldsOf(plan);
  const changed = { ...plan };
  if (fields.arms !== before.arms || fields.radio !== before.radio)
    changed.arms = armsOf(fields.arms, fields.radio);
  if (fields.gap_ms !== before.gap_ms) changed.rate_hz = 1000 / fields.gap_ms;
  const { blocks, notifications, payload_bytes } = fields;
  return { ...changed, blocks, notifications, payload_bytes };
}

/**
 * Whether the form differs from the plan that it was filled from.
 *
 * @param {Plan} plan
 * @param {Fields} fields
 */
export function isChanged(plan, fields) {
  return JSON.stringify(fieldsOf(plan)) !== JSON.stringify(fields);
}

/**
 * 1, 3 and 6 of 6 phones; else one, about half, and all.
 *
 * @param {number} phones
 */
export function clientCounts(phones) {
  return [...new Set([1, Math.ceil(phones / 2), phones])].sort((a, b) => a - b);
}

/**
 * A plan's counts for another number of phones than it had; as many phones leave them as they are.
 *
 * @param {number[]} counts
 * @param {{phones: number, before: number}} numbers
 */
export function countsFor(counts, { phones, before }) {
  if (phones === before) return counts;
  return counts.length === 1 ? [phones] : clientCounts(phones);
}

/**
 * How long a changed plan takes, by how long the server says the preset does: what a trial takes beside sending is
 * the same in both.
 *
 * @param {Preset} preset
 * @param {Plan} plan
 */
export function lengthS(preset, plan) {
  const besideS = preset.length_s / trialCount(preset.plan) - sendingS(preset.plan);
  return trialCount(plan) * (sendingS(plan) + Math.max(0, besideS));
}

/** @param {Plan} plan */
function trialCount({ arms, blocks, client_counts }) {
  return arms.length * blocks * client_counts.length;
}

/** @param {Plan} plan */
function sendingS({ notifications, warmup_notifications, rate_hz }) {
  return (notifications + warmup_notifications) / rate_hz;
}

/**
 * @param {string} armsWanted
 * @param {string} radioWanted
 * @returns {Arm[]}
 */
function armsOf(armsWanted, radioWanted) {
  const radios = RADIO[radioWanted] ?? RADIO.as_is;
  return (ARMS[armsWanted] ?? ARMS.both).flatMap(({ name, transport, factors }) =>
    radios.map((radio) => ({
      name: radios.length > 1 ? `${name}, radio ${radio}` : name,
      transport,
      factors: radio === null ? { ...factors } : { ...factors, radio },
    })),
  );
}

/**
 * @param {string} transport
 * @param {string} name
 * @param {Arm["factors"]} factors
 * @returns {Arm}
 */
function arm(transport, name = transport, factors = {}) {
  return { name, transport, factors };
}

/** @param {Arm[]} arms */
function armsKey(arms) {
  const transports = [...new Set(arms.map(({ transport }) => transport))];
  if (transports.length > 1) {
    const levels = new Set(arms.map(({ factors }) => factors?.compression));
    return levels.has(true) && levels.has(false) ? "compression" : "both";
  }
  if (arms.length > 1 && arms.some(({ factors }) => factors?.polling)) return "polling";
  const isTwice = arms.length > new Set(arms.map(({ factors }) => factors?.radio)).size;
  return `${isTwice ? "aa_" : ""}${transports[0] ?? "sse"}`;
}

/** @param {Arm[]} arms */
function radioKey(arms) {
  const radios = new Set(arms.map(({ factors }) => factors?.radio ?? "as_is"));
  if (radios.size > 1) return "both";
  return radios.has("warm") ? "warm" : "as_is";
}
