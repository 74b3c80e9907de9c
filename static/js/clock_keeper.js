/**
 * Keeps the worker's clock: asks in bursts, feeds ClockSync, and says when a burst is over.
 *
 * 32 probes at the start, 8 about every 5 s, 16 at the end (`probing.js`). A sample is judged when a burst after it is
 * in, so that probes on both sides of it count.
 */

import { ClockSync } from "./clocksync.js";
import { BURST_PROBE_COUNT, END_PROBE_COUNT, START_PROBE_COUNT, burstPeriodUs, burstUs } from "./probing.js";
import { RoundTrips } from "./round_trips.js";

/** @typedef {import("./clock_channel.js").ClockChannel} ClockChannel */
/** @typedef {import("./clocksync.js").ClockReading} ClockReading */
/** @typedef {import("./types.js").ClockStatus} ClockStatus */
/** @typedef {import("./types.js").Timers} Timers */

/** Some forty minutes of probing, should nobody take them; then the oldest are let go. */
const PROBES_KEPT_MAX = 4_000;

/** One worker's clock. */
export class ClockKeeper {
  #sync = new ClockSync();
  #roundTrips = new RoundTrips();
  /** @type {{timebase: string, stamps: import("./types.js").ProbeStamps}[]} */
  #probes = [];
  #wakeCount = 0;
  #channel;
  #nowUs;
  #timers;
  #random;
  #onBurst;
  /** @type {import("./types.js").ClockChannelKind} */
  #kind = "http";
  #answeredCount = 0;
  #silentBurstCount = 0;
  #isRunning = false;
  /** @type {any} */
  #timer;
  /** @type {Promise<void>} the bursts so far; the next one waits for it */
  #bursts = Promise.resolve();

  /**
   * @param {Pick<ClockChannel, "kind" | "open" | "probe" | "nudge" | "close">} channel
   * @param {{
   *   nowUs: () => number, timers: Timers, random: () => number, onBurst: (startUs: number) => void,
   * }} dependencies `onBurst` gets when the burst that just ended began, client time
   */
  constructor(channel, { nowUs, timers, random, onBurst }) {
    this.#channel = channel;
    this.#nowUs = nowUs;
    this.#timers = timers;
    this.#random = random;
    this.#onBurst = onBurst;
  }

  /** Ask now, and from then on until `finish`. */
  async start() {
    this.#isRunning = true;
    await this.#runBurst(START_PROBE_COUNT);
    this.#scheduleNext();
  }

  /** The page was hidden or frozen and is back: a new segment, and probes at once. */
  wake() {
    this.#sync.openSegment();
    this.#wakeCount += 1;
    return this.askNow();
  }

  /**
   * A burst before its time: after an interruption the server may be another, with another timebase; behind a trial
   * its last samples want probes on both sides.
   */
  async askNow(probeCount = BURST_PROBE_COUNT) {
    if (!this.#isRunning) return;
    this.#timers.clearTimeout(this.#timer);
    await this.#runBurst(probeCount);
    this.#scheduleNext();
  }

  /** A small packet that asks nothing, to keep a phone's radio awake. */
  nudge() {
    this.#channel.nudge();
  }

  /** A last burst behind the last sample; then the channel is closed. */
  async finish() {
    this.#isRunning = false;
    this.#timers.clearTimeout(this.#timer);
    await this.#runBurst(END_PROBE_COUNT);
    this.#channel.close();
  }

  /** The probes since the last time that somebody took them, so that others can judge what is read here. */
  takeProbes() {
    return this.#probes.splice(0);
  }

  /**
   * @param {number} clientUs
   * @param {{live?: boolean}} [options]
   * @returns {ClockReading}
   */
  read(clientUs, options) {
    return this.#sync.read(clientUs, options);
  }

  /**
   * The timebase in which a reading at that time is; empty before the first answer.
   *
   * @param {number} clientUs
   */
  timebaseAt(clientUs) {
    const [first, ...others] = this.#sync.segments;
    return others.reduce((found, next) => (next.start_us <= clientUs ? next : found), first)?.timebase ?? "";
  }

  /** Over what the last answer came; stays when the channel is closed. */
  get kind() {
    return this.#kind;
  }

  /** How often the clock contradicted itself: it was set, or the device slept. */
  get breakCount() {
    return this.#sync.break_count;
  }

  /** How long the questions took. */
  get roundTrips() {
    return this.#roundTrips.read();
  }

  /** Whether a whole burst went without an answer. */
  get isSilent() {
    return this.#silentBurstCount > 0;
  }

  /** @returns {ClockStatus} */
  status() {
    const clientUs = this.#nowUs();
    const reading = this.#sync.read(clientUs, { live: true });
    const isWaiting = reading.state === "no_clock" && this.#answeredCount === 0 && !this.isSilent;
    return {
      ...reading,
      state: isWaiting ? "waiting" : reading.state,
      client_us: clientUs,
      channel: this.#answeredCount === 0 ? null : this.#kind,
      answered_count: this.#answeredCount,
    };
  }

  #scheduleNext() {
    if (!this.#isRunning) return;
    this.#timers.clearTimeout(this.#timer);
    const next = () => this.#runBurst(BURST_PROBE_COUNT).then(() => this.#scheduleNext());
    this.#timer = this.#timers.setTimeout(next, burstPeriodUs(this.#random) / 1000);
  }

  /** @param {number} probeCount */
  #runBurst(probeCount) {
    this.#bursts = this.#bursts.then(() => this.#probe(probeCount));
    return this.#bursts;
  }

  /**
   * Over the WebSocket probes overlap, whatever the round trip; over HTTP each waits for the one before, since a
   * browser has few connections and a queue would only widen the bound. A server that is away is not asked 32 times.
   *
   * @param {number} probeCount
   */
  async #probe(probeCount) {
    await this.#channel.open();
    const startUs = this.#nowUs();
    const answers = [];
    for (const dueUs of burstUs(probeCount, this.#random)) {
      await this.#sleepUntil(startUs + dueUs);
      const answer = this.#askOnce({ isFirst: answers.length === 0 });
      answers.push(answer);
      if (this.#channel.kind === "http" && !(await answer)) break;
    }
    const accepted = (await Promise.all(answers)).filter(Boolean);
    this.#silentBurstCount = accepted.length > 0 ? 0 : this.#silentBurstCount + 1;
    this.#onBurst(startUs);
  }

  /**
   * @param {{isFirst: boolean}} place in its burst
   * @returns {Promise<boolean>} whether an answer came
   */
  async #askOnce(place) {
    const { kind } = this.#channel;
    const answer = await this.#channel.probe();
    if (!answer) return false;
    this.#kind = kind;
    this.#answeredCount += 1;
    this.#sync.add(answer.probe, answer.timebase);
    const { t1_us, t2_us, t3_us, t4_us } = answer.probe;
    this.#roundTrips.add(t4_us - t1_us - (t3_us - t2_us), place);
    const stamps = /** @type {import("./types.js").ProbeStamps} */ (
      [this.#wakeCount, t1_us, t2_us, t3_us, t4_us].map(tenths)
    );
    this.#probes.push({ timebase: answer.timebase, stamps });
    if (this.#probes.length > PROBES_KEPT_MAX) this.#probes.shift();
    return true;
  }

  /** @param {number} timeUs client time */
  #sleepUntil(timeUs) {
    const waitMs = Math.max(0, timeUs - this.#nowUs()) / 1000;
    return new Promise((resolve) => this.#timers.setTimeout(() => resolve(undefined), waitMs));
  }
}

/** Finer than any browser's clock, and without the dozen digits behind it. @param {number} valueUs */
function tenths(valueUs) {
  return Math.round(valueUs * 10) / 10;
}
