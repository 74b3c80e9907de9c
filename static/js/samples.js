/**
 * From an arrival and a reading of the clock to a sample: what became of it, and whether its delay may be used.
 *
 * Pure: whoever calls waits until probes on both sides of the arrival are in.
 */

import { parsePosition } from "./position.js";

/** @typedef {import("./types.js").Arrival} Arrival */
/** @typedef {import("./types.js").Sample} Sample */
/** @typedef {import("./clocksync.js").ClockReading} ClockReading */

/** The drain limit: what takes longer is late, whatever kept it. */
export const LATE_US = 5_000_000;

/**
 * The sample of an arrival.
 *
 * @param {Arrival} arrival
 * @param {ClockReading} arrived the clock at the arrival
 * @param {ClockReading} opened the clock when the arrival's connection opened
 * @returns {Sample}
 */
export function toSample(arrival, arrived, opened) {
  const { notification, connection } = arrival;
  const replayed = isReplay(arrival, opened.offset_us === null ? arrived : opened);
  return {
    id: notification.id,
    transport: connection.transport,
    due_us: notification.due_us,
    sent_us: notification.sent_us,
    received_client_us: arrival.received_client_us,
    displayed_client_us: arrival.displayed_client_us,
    clock_offset_us: arrived.offset_us,
    clock_bound_us: arrived.bound_us,
    state: stateOf(arrival, arrived, replayed),
    outcome: outcomeOf(arrival, arrived, replayed),
    visible: arrival.visible,
    lifecycle: arrival.lifecycle ?? (arrival.visible ? "visible" : "hidden"),
  };
}

/**
 * Delivery delay from when the notification was due.
 *
 * @param {number} receivedUs client time
 * @param {ClockReading} reading
 * @param {number} dueUs server time
 * @returns {number | null} microseconds; null without a clock
 */
export function delayUs(receivedUs, reading, dueUs) {
  return reading.offset_us === null ? null : receivedUs + reading.offset_us - dueUs;
}

/**
 * Whether a sample's delay belongs into the median: measured, and not told a second time.
 *
 * @param {Sample} sample
 */
export function isUsable(sample) {
  return sample.state === "ok" && (sample.outcome === "on_time" || sample.outcome === "late");
}

/**
 * Whether it came from history after a reconnect.
 *
 * Socket.IO tells where history stood. SSE does not (an EventSource keeps the first block's id to itself), so there
 * the stamps decide: what was sent before the stream was known to be open. With the clock's bound added this may call
 * an arrival of the first milliseconds a replay, and never a replay punctual. Without any clock, as after a suspend,
 * what a resumed connection brings is not claimed to be punctual either.
 *
 * @param {Arrival} arrival
 * @param {ClockReading} clock
 */
function isReplay({ notification, connection }, clock) {
  if (!connection.resumed) return false;
  const from = parsePosition(connection.position);
  const own = parsePosition(notification.id);
  if (from && own && from.epoch === own.epoch) return own.offset <= from.offset;
  if (clock.offset_us === null || clock.bound_us === null) return true;
  return notification.sent_us < connection.opened_client_us + clock.offset_us + clock.bound_us;
}

/**
 * @param {Arrival} arrival
 * @param {ClockReading} arrived
 * @param {boolean} replayed
 * @returns {Sample["state"]}
 */
function stateOf({ notification, connection, visible, polling_asked }, arrived, replayed) {
  if (!visible) return "hidden";
  if (connection.carrier === "polling" && !polling_asked) return "polling";
  if (replayed) return "replay";
  if (notification.data?.trial?.warmup === true) return "warmup";
  return arrived.state;
}

/**
 * @param {Arrival} arrival
 * @param {ClockReading} arrived
 * @param {boolean} replayed
 * @returns {Sample["outcome"]}
 */
function outcomeOf({ notification, received_client_us, is_new }, arrived, replayed) {
  if (!is_new) return "duplicate";
  if (replayed) return "replayed";
  const delay = delayUs(received_client_us, arrived, notification.due_us);
  return delay !== null && delay > LATE_US ? "late" : "on_time";
}
