/**
 * One trial on this phone: exactly the transport under test, and the clock channel.
 *
 *     open --> connected, clock known: ready --> arrivals ... --> all here, or the time is over --> close
 *                                                                 --> closing probes --> samples and conduct posted
 *
 * Reconnecting and resuming are the transport's own (transports/): what was missed meanwhile comes as replays. So is
 * going on behind a reload of the page, with what the page before has put down (trial_log.js).
 */

import { ConductRecord } from "./conduct.js";
import { END_PROBE_COUNT } from "./probing.js";
import { toSample } from "./samples.js";
import { PIECE_PERIOD_US } from "./trial_log.js";

/** @typedef {import("./types.js").Arrival} Arrival */
/** @typedef {import("./types.js").Connection} Connection */
/** @typedef {import("./types.js").Notification} Notification */
/** @typedef {import("./room_types.js").Trial} Trial */
/** @typedef {import("./trial_log.js").Piece} Piece */

/** Behind the last due time the server's CPU is still being read; posts wait until it is done. */
export const QUIET_AFTER_LAST_US = 500_000;

/** So that a room of phones does not post as one. */
const QUIET_SPREAD_US = 500_000;

/** Behind the trial's end: what comes with the last moment is still heard. */
export const END_MARGIN_US = 200_000;

/** For the factor "warm radio". */
export const NUDGE_PERIOD_MS = 100;

/** Duplicates beyond this are only counted by the server that sends them. */
const ARRIVALS_SPARE = 500;

/**
 * @typedef {{
 *   openStream: import("./types.js").OpenStream,
 *   keeper: Pick<import("./clock_keeper.js").ClockKeeper, "askNow" | "nudge" | "read" | "status" | "timebaseAt"
 *     | "kind" | "breakCount" | "roundTrips" | "takeProbes">,
 *   outbox: Pick<import("./outbox.js").Outbox, "add" | "addConduct" | "addProbes" | "emptied">,
 *   log: Pick<import("./outbox_store.js").OutboxStore, "addPiece" | "dropPieces">,
 *   facts: import("./types.js").DeviceFacts,
 *   onArrival: (arrival: {id: string, count: number}) => void,
 *   onChange: () => void,
 *   onTimeOver: () => void,
 *   nowUs: () => number, wallUs: () => number, timers: import("./types.js").Timers, random: () => number,
 * }} TrialDependencies `onTimeOver`: everything has come, or nothing more will; whoever holds the trial ends it
 */

/** From opening the transport to the last post. */
export class TrialSession {
  #run;
  #trial;
  #answerOffsetUs;
  #dependencies;
  #conduct;
  #breaksBefore;
  /** @type {import("./types.js").Stream} */
  #stream;
  /** @type {Connection | null} */
  #connection = null;
  #isConnected = false;
  #isVisible;
  #isEnded = false;
  /** @type {Arrival[]} */
  #arrivals = [];
  /** @type {Set<number>} */
  #seqs;
  #left;
  /** @type {string | null} behind which a page that is loaded anew goes on */
  #lastId;
  /** Arrivals that are put down, and when that was. */
  #keptCount = 0;
  #keptUs = -Infinity;
  /** @type {number | null} server time */
  #endsUs = null;
  /** @type {any} */
  #endTimer;
  /** @type {any} */
  #nudgeTimer;

  /**
   * @param {{run: string, trial: Trial, visible: boolean, answerOffsetUs: number, left?: Piece | null}} wanted
   *   `answerOffsetUs`: server time minus client time when the server's last answer came; `left`: of the page before
   * @param {TrialDependencies} dependencies
   */
  constructor({ run, trial, visible, answerOffsetUs, left = null }, dependencies) {
    this.#run = run;
    this.#trial = trial;
    this.#answerOffsetUs = answerOffsetUs;
    this.#dependencies = dependencies;
    this.#isVisible = visible;
    this.#breaksBefore = dependencies.keeper.breakCount;
    this.#left = left;
    this.#seqs = new Set(left?.seqs);
    this.#lastId = left?.last_id ?? null;
    const startUs = dependencies.nowUs();
    this.#conduct = new ConductRecord({ visible, startUs, left: left?.conduct });
    const { transport, topic, factors } = trial;
    this.#stream = dependencies.openStream(
      transport,
      {
        lastEventId: this.#lastId,
        topics: [topic],
        transports: factors.polling ? ["polling", "websocket"] : ["websocket"],
      },
      {
        onOpen: (connection) => this.#onOpen(connection),
        onNotification: (notification, receivedUs) => this.#onNotification(notification, receivedUs),
        onGap: ({ id }) => void (this.#lastId = id ?? this.#lastId),
        onDown: () => this.#onDown(),
      },
    );
    if (factors.radio === "warm") this.#nudge();
  }

  get index() {
    return this.#trial.index;
  }

  get conduct() {
    return this.#conduct;
  }

  get isConnected() {
    return this.#isConnected;
  }

  /** Whether measuring may begin: in front, connected, and the clock is known. */
  get isReady() {
    const { state } = this.#dependencies.keeper.status();
    return this.#isConnected && this.#isVisible && (state === "ok" || state === "wide_u");
  }

  /** Whether a notification of it has come; from then on nothing is asked of the server. */
  get hasBegun() {
    return this.#seqs.size > 0;
  }

  /** Whether the clock contradicted itself since it began. */
  get hasClockJumped() {
    return this.#dependencies.keeper.breakCount > this.#breaksBefore;
  }

  /** When it ends for certain, server time; null while nobody knows. */
  get endsUs() {
    return this.#endsUs;
  }

  /** Notifications that are here, each counted once, warm-up included. */
  get receivedCount() {
    return this.#seqs.size;
  }

  /**
   * The server said when it ends.
   *
   * @param {number | null} endsUs server time
   */
  setEnd(endsUs) {
    if (endsUs === null || endsUs === this.#endsUs) return;
    this.#endsUs = endsUs;
    this.#endAt(endsUs + END_MARGIN_US);
  }

  /**
   * @param {import("./types.js").LifecycleEvent} kind
   * @param {number} atUs client time
   */
  noteLifecycle(kind, atUs) {
    this.#conduct.note(kind, atUs);
    if (kind === "visible" || kind === "hidden") this.#isVisible = kind === "visible";
    // A page that is hidden may be gone for good.
    if (kind === "hidden" && !this.#isEnded) this.#keep();
  }

  /**
   * When the page drew it.
   *
   * @param {string} id
   * @param {number} displayedUs client time
   */
  noteDisplayed(id, displayedUs) {
    const arrival = this.#arrivals.find(({ notification, is_new }) => is_new && notification.id === id);
    if (arrival) arrival.displayed_client_us ??= displayedUs;
  }

  /** Close the transport, measure the clock once more, and post everything; settles when it has arrived. */
  async end() {
    if (this.#isEnded) return;
    this.close();
    const { keeper, outbox, log, nowUs } = this.#dependencies;
    const conduct = this.#conduct.read(nowUs());
    await keeper.askNow(END_PROBE_COUNT);
    const taken = this.#arrivals.map((each) => this.#take(each));
    for (const { sample, context } of [...(this.#left?.taken ?? []), ...taken]) outbox.add(sample, context);
    outbox.addProbes(keeper.takeProbes(), this.#context(nowUs()));
    outbox.addConduct(this.#conductOf(conduct), this.#context(nowUs()));
    log.dropPieces();
    await outbox.emptied();
  }

  /** Only close: the trial was called off, or the phone leaves. */
  close() {
    const { timers } = this.#dependencies;
    this.#isEnded = true;
    this.#isConnected = false;
    timers.clearTimeout(this.#endTimer);
    timers.clearTimeout(this.#nudgeTimer);
    this.#stream.close();
  }

  /** @param {Connection} connection */
  #onOpen(connection) {
    const { keeper, onChange } = this.#dependencies;
    // Behind an interruption the server may be another, and the radio slept.
    if (this.#connection !== null) keeper.askNow();
    this.#connection = connection;
    this.#isConnected = true;
    this.#lastId ??= connection.resumes_from;
    this.#keep();
    onChange();
  }

  #onDown() {
    if (this.#isConnected) this.#conduct.noteDisconnect(this.#dependencies.nowUs());
    this.#isConnected = false;
    this.#dependencies.onChange();
  }

  /**
   * @param {Notification} notification
   * @param {number} receivedUs
   */
  #onNotification(notification, receivedUs) {
    const { run, trial, seq } = notification.data?.trial ?? {};
    if (this.#connection === null || run !== this.#run || trial !== this.#trial.index) return;
    if (this.#arrivals.length >= this.#trial.expected_count + ARRIVALS_SPARE) return;
    const isNew = !this.#seqs.has(seq);
    this.#seqs.add(seq);
    this.#arrivals.push({
      notification,
      connection: this.#connection,
      is_new: isNew,
      visible: this.#isVisible,
      polling_asked: Boolean(this.#trial.factors.polling),
      received_client_us: receivedUs,
      displayed_client_us: null,
    });
    this.#lastId = notification.id;
    const { nowUs, wallUs } = this.#dependencies;
    this.#conduct.noteWallClock(wallUs() - nowUs());
    // The stamp is taken, and the next one is a while away.
    if (receivedUs - this.#keptUs >= PIECE_PERIOD_US) this.#keep();
    this.#foresee(notification.due_us, seq);
    if (isNew) this.#dependencies.onArrival({ id: notification.id, count: this.#seqs.size });
  }

  /**
   * The schedule is known from any of its notifications: when the last one is due, and when waiting for it ends.
   *
   * @param {number} dueUs server time
   * @param {number} seq
   */
  #foresee(dueUs, seq) {
    const { expected_count, rate_hz, drain_ms } = this.#trial;
    const lastDueUs = dueUs + ((expected_count - 1 - seq) * 1e6) / rate_hz;
    if (this.#endsUs === null) this.setEnd(Math.round(lastDueUs + drain_ms * 1000));
    if (this.#seqs.size < expected_count) return;
    const spreadUs = QUIET_SPREAD_US * this.#dependencies.random();
    this.#endAt(lastDueUs + QUIET_AFTER_LAST_US + spreadUs);
  }

  /** @param {number} serverUs */
  #endAt(serverUs) {
    const { keeper, nowUs, timers, onTimeOver } = this.#dependencies;
    const { offset_us } = keeper.read(nowUs(), { live: true });
    const waitMs = (serverUs - (offset_us ?? this.#leastOffsetUs()) - nowUs()) / 1000;
    timers.clearTimeout(this.#endTimer);
    if (!this.#isEnded) this.#endTimer = timers.setTimeout(onTimeOver, Math.max(0, waitMs));
  }

  /**
   * Without a clock just now, as right behind a reload: an answer and an arrival both come later than they were sent, so
   * either offset is too small if anything, and the larger one is nearer. A trial is never ended too early by it.
   */
  #leastOffsetUs() {
    const last = this.#arrivals.slice(-1)[0];
    const ofArrival = last ? last.notification.due_us - last.received_client_us : -Infinity;
    return Math.max(this.#answerOffsetUs, ofArrival);
  }

  /** Put down what came since the last time. */
  #keep() {
    const { log, nowUs } = this.#dependencies;
    const atUs = nowUs();
    const fresh = this.#arrivals.slice(this.#keptCount);
    this.#keptUs = atUs;
    this.#keptCount = this.#arrivals.length;
    log.addPiece({
      taken: fresh.map((each) => this.#take(each, { live: true })),
      seqs: fresh.map(({ notification }) => notification.data.trial.seq),
      last_id: this.#lastId,
      conduct: this.#conductOf(this.#conduct.read(atUs)),
      context: this.#context(atUs),
    });
  }

  /**
   * @param {Arrival} each
   * @param {{live?: boolean}} [options] `live`: before probes behind it are in
   */
  #take(each, options) {
    const { keeper } = this.#dependencies;
    const atUs = each.received_client_us;
    const lifecycle = this.#conduct.stateAt(atUs);
    const arrival = { ...each, lifecycle, visible: this.#conduct.wasVisibleAt(atUs) };
    const opened = keeper.read(each.connection.opened_client_us, options);
    return { sample: toSample(arrival, keeper.read(atUs, options), opened), context: this.#context(atUs) };
  }

  #nudge() {
    const { keeper, timers } = this.#dependencies;
    keeper.nudge();
    this.#nudgeTimer = timers.setTimeout(() => this.#nudge(), NUDGE_PERIOD_MS);
  }

  /** @param {number} atUs client time */
  #context(atUs) {
    const { keeper } = this.#dependencies;
    return {
      run: this.#run,
      trial: this.#trial.index,
      clock_channel: keeper.kind,
      timebase: keeper.timebaseAt(atUs),
    };
  }

  /** @param {ReturnType<ConductRecord["read"]>} conduct */
  #conductOf(conduct) {
    const { keeper, facts } = this.#dependencies;
    const { rtt_ms, radio_jitter_ms } = keeper.roundTrips;
    return {
      ...conduct,
      clock_steps: keeper.breakCount - this.#breaksBefore + (this.#left?.conduct.clock_steps ?? 0),
      expected_count: this.#trial.expected_count,
      received_count: this.#seqs.size,
      device: { ...facts, rtt_ms, radio_jitter_ms },
    };
  }
}
