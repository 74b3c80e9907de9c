/**
 * One session of receiving, from Start to Stop: holds the transport, judges what arrives, and tells the page.
 *
 *     transport --> order (missing, duplicate) --> pending --> samples --> tally, outbox
 *                     ^                               ^
 *           hole check: history     a later burst of the clock, or Stop
 */

import { CHANGE_AFTER_COUNT, CHANGE_AFTER_S, firstTransport, otherTransport } from "./alternation.js";
import { HoleCheck } from "./hole_check.js";
import { Order } from "./order.js";
import { Pending } from "./pending.js";
import { delayUs, toSample } from "./samples.js";
import { Tally } from "./tally.js";

/** @typedef {import("./types.js").Arrival} Arrival */
/** @typedef {import("./types.js").Choice} Choice */
/** @typedef {import("./types.js").Connection} Connection */
/** @typedef {import("./types.js").Notification} Notification */
/** @typedef {import("./types.js").StreamEvents} StreamEvents */
/** @typedef {import("./types.js").Transport} Transport */

/** One failed try is a hiccup; from the second on the page says why. */
const FAILED_TRIES_TOLD = 2;

/** Who sent it waits for the receipt: the clock is asked this soon behind the first of several, and it is posted. */
const RECEIPT_AFTER_MS = 200;

/** What follows sooner waits for the usual bursts, which are as far apart. */
const RECEIPT_PAUSE_US = 5_000_000;

/**
 * @typedef {{
 *   openStream: (transport: Transport, lastEventId: string | null, events: StreamEvents) =>
 *     import("./types.js").Stream,
 *   makeKeeper: (onBurst: (startUs: number) => void) => Pick<import("./clock_keeper.js").ClockKeeper,
 *     "start" | "wake" | "askNow" | "finish" | "read" | "timebaseAt" | "kind" | "isSilent" | "status">,
 *   outbox: Pick<import("./outbox.js").Outbox, "add" | "flush" | "status" | "failedCount">,
 *   tell: (message: import("./types.js").ToPage) => void,
 *   whyDown: () => Promise<import("./types.js").Problem>,
 *   askHistory: (span: import("./types.js").Span) => Promise<import("./types.js").HistoryAnswer | null>,
 *   onChange: () => void,
 *   nowUs: () => number,
 *   timers: import("./types.js").Timers,
 *   random: () => number,
 * }} SessionDependencies `onChange`: the state is another; it says nothing about how much
 */

/** What happens between Start and Stop. */
export class Session {
  /** @type {import("./types.js").Phase} */
  #phase = "starting";
  #order = new Order();
  #pending = new Pending();
  #tallies = { sse: new Tally(), socketio: new Tally() };
  #dependencies;
  #choice;
  #keeper;
  #holeCheck;
  #visible;
  #failedTries = 0;
  /** @type {import("./types.js").Problem | null} why they failed, once that is known */
  #down = null;
  /** @type {Transport} */
  #transport;
  /** @type {import("./types.js").Stream | null} */
  #stream = null;
  /** @type {string | null} */
  #lastId = null;
  #countOnTransport = 0;
  #receiptUs = -Infinity;
  /** @type {any} */
  #changeTimer;

  /**
   * @param {{choice: Choice, visible: boolean}} wanted
   * @param {SessionDependencies} dependencies
   */
  constructor({ choice, visible }, dependencies) {
    this.#dependencies = dependencies;
    this.#choice = choice;
    this.#visible = visible;
    this.#transport = firstTransport(choice);
    this.#holeCheck = new HoleCheck(this.#order, dependencies);
    this.#keeper = dependencies.makeKeeper((startUs) => this.#onBurst(startUs));
  }

  /** The clock and the stream start together; the samples wait for the clock. */
  start() {
    if (this.#phase !== "starting") return;
    this.#keeper.start();
    this.#connect();
  }

  get choice() {
    return this.#choice;
  }

  /** Whether it receives, or is about to. */
  get isOn() {
    return this.#phase !== "stopping" && this.#phase !== "stopped";
  }

  /** Ends the stream, closes the clock behind the last sample, and sends what there is. */
  async stop() {
    if (!this.isOn) return;
    this.#phase = "stopping";
    this.#disconnect();
    this.#dependencies.onChange();
    await Promise.all([this.#keeper.finish(), this.#holeCheck.finish()]);
    this.#judge({ untilUs: Infinity, live: false });
    await this.#dependencies.outbox.flush();
    this.#phase = "stopped";
    this.#dependencies.onChange();
  }

  /**
   * A hidden page may be frozen without a word, so what is known goes out at once; one that is back gets a new segment
   * of the clock.
   *
   * @param {boolean} visible
   */
  setVisible(visible) {
    if (visible === this.#visible) return;
    this.#visible = visible;
    if (visible) {
      this.#keeper.wake();
    } else {
      this.#judge({ untilUs: Infinity, live: true });
      this.#dependencies.outbox.flush();
    }
  }

  /** The page is back from somewhere: whatever its clock was, it is measured anew. */
  wake() {
    if (this.isOn) this.#keeper.wake();
  }

  /**
   * @param {string} id
   * @param {number} displayedUs client time
   */
  noteDisplayed(id, displayedUs) {
    this.#pending.noteDisplayed(id, displayedUs);
  }

  /** @returns {import("./types.js").WorkerState} */
  state() {
    const outbox = this.#dependencies.outbox.status();
    return {
      phase: this.#phase,
      transport: this.#stream === null ? null : this.#transport,
      problems: this.#problems(),
      tallies: {
        sse: this.#tallies.sse.read(this.#order.missing("sse")),
        socketio: this.#tallies.socketio.read(this.#order.missing("socketio")),
      },
      clock: this.#keeper.status(),
      // What waits for the clock waits to be sent as well.
      outbox: { ...outbox, waiting_count: outbox.waiting_count + this.#pending.count },
    };
  }

  #connect() {
    const transport = this.#transport;
    /** @type {Connection | null} */
    let connection = null;
    /** @type {StreamEvents} */
    const events = {
      onOpen: (opened) => {
        connection = opened;
        this.#onOpen(opened);
      },
      onNotification: (notification, receivedUs) => {
        if (connection) this.#onNotification(notification, receivedUs, connection);
      },
      onGap: (gap) => {
        this.#order.noteGap(gap, transport);
        this.#holeCheck.note();
        this.#lastId = gap.id ?? this.#lastId;
        this.#dependencies.onChange();
      },
      onDown: () => this.#onDown(),
    };
    this.#countOnTransport = 0;
    this.#stream = this.#dependencies.openStream(transport, this.#lastId, events);
    if (this.#choice === "both") {
      const { timers } = this.#dependencies;
      this.#changeTimer = timers.setTimeout(() => this.#changeTransport(), CHANGE_AFTER_S * 1000);
    }
  }

  #disconnect() {
    this.#dependencies.timers.clearTimeout(this.#changeTimer);
    this.#stream?.close();
    this.#stream = null;
  }

  /** The new connection resumes where the old one ended, so that nothing is lost in between. */
  #changeTransport() {
    this.#disconnect();
    this.#transport = otherTransport(this.#transport);
    this.#connect();
    this.#dependencies.onChange();
  }

  /** @param {Connection} connection */
  #onOpen({ position, resumes_from }) {
    if (this.#failedTries > 0) this.#keeper.askNow();
    this.#failedTries = 0;
    this.#down = null;
    this.#phase = "receiving";
    this.#order.begin(position);
    this.#lastId ??= resumes_from;
    this.#dependencies.onChange();
  }

  #onDown() {
    this.#failedTries += 1;
    this.#phase = "reconnecting";
    this.#dependencies.onChange();
    if (this.#failedTries >= FAILED_TRIES_TOLD) this.#askWhy();
  }

  async #askWhy() {
    const down = await this.#dependencies.whyDown();
    if (this.#failedTries === 0) return;
    this.#down = down;
    this.#dependencies.onChange();
  }

  /**
   * @param {Notification} notification
   * @param {number} receivedUs
   * @param {Connection} connection
   */
  #onNotification(notification, receivedUs, connection) {
    const isNew = this.#order.note(notification.id, connection.transport);
    if (notification.data?.trial) this.#holeCheck.noteTrial(receivedUs);
    else if (receivedUs - this.#receiptUs > RECEIPT_PAUSE_US) this.#hurry(receivedUs);
    const overdue = this.#pending.add({
      notification,
      connection,
      is_new: isNew,
      visible: this.#visible,
      received_client_us: receivedUs,
      displayed_client_us: null,
    });
    if (overdue) this.#take(overdue, { live: true });
    if (isNew) this.#announce(notification, receivedUs, connection);
    this.#holeCheck.note();
    this.#dependencies.onChange();
  }

  /**
   * @param {Notification} notification
   * @param {number} receivedUs
   * @param {Connection} connection
   */
  #announce(notification, receivedUs, { transport }) {
    this.#lastId = notification.id;
    this.#tallies[transport].addArrival();
    const reading = this.#keeper.read(receivedUs, { live: true });
    const delay = delayUs(receivedUs, reading, notification.due_us);
    const known = delay !== null && reading.bound_us !== null;
    this.#dependencies.tell({
      kind: "arrival",
      notification,
      transport,
      reading: known ? { delay_ms: delay / 1000, bound_ms: Number(reading.bound_us) / 1000 } : null,
    });
    this.#countOnTransport += 1;
    if (this.#choice === "both" && this.#countOnTransport >= CHANGE_AFTER_COUNT) this.#changeTransport();
  }

  /** @param {number} receivedUs */
  #hurry(receivedUs) {
    const { timers, outbox } = this.#dependencies;
    this.#receiptUs = receivedUs;
    timers.setTimeout(async () => {
      if (!this.isOn) return;
      await this.#keeper.askNow();
      await outbox.flush();
    }, RECEIPT_AFTER_MS);
  }

  /** @param {number} startUs */
  #onBurst(startUs) {
    this.#judge({ untilUs: startUs, live: false });
    this.#dependencies.onChange();
  }

  /** @param {{untilUs: number, live: boolean}} limits arrivals up to then; `live` when no later probe will count */
  #judge({ untilUs, live }) {
    for (const arrival of this.#pending.takeUntil(untilUs)) this.#take(arrival, { live });
  }

  /**
   * @param {Arrival} arrival
   * @param {{live: boolean}} options
   */
  #take(arrival, options) {
    const { received_client_us: receivedUs, connection, notification } = arrival;
    const arrived = this.#keeper.read(receivedUs, options);
    const opened = this.#keeper.read(connection.opened_client_us, options);
    const sample = toSample(arrival, arrived, opened);
    this.#tallies[connection.transport].addSample(sample);
    this.#dependencies.outbox.add(sample, {
      ...trialOf(notification),
      clock_channel: this.#keeper.kind,
      timebase: this.#keeper.timebaseAt(receivedUs),
    });
  }

  #problems() {
    /** @type {import("./types.js").Problem[]} */
    const problems = [];
    if (this.isOn && this.#down !== null) problems.push(this.#down);
    else if (this.isOn && this.#keeper.isSilent) problems.push("clock_silent");
    else if (this.#dependencies.outbox.failedCount >= FAILED_TRIES_TOLD) problems.push("sending_fails");
    return problems;
  }
}

/**
 * The trial to which a notification belongs. Without one the server takes the sample into its live run, which is
 * another after a restart, so the page does not name it.
 *
 * @param {Notification} notification
 */
function trialOf({ data }) {
  const { run, trial } = data?.trial ?? {};
  const isTrial = typeof run === "string" && Number.isInteger(trial);
  return isTrial ? { run, trial } : { run: null, trial: null };
}
