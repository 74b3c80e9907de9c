/** Stand-ins written by hand: time that stands still until a test moves it. */

/** Timers and a clock on one time line, microseconds from 0. */
export class FakeTime {
  now_us = 0;
  #due = [];
  #number = 0;
  nowUs = () => this.now_us;
  timers = {
    setTimeout: (action, delayMs) => {
      this.#due.push({ number: (this.#number += 1), at_us: this.now_us + delayMs * 1000, action });
      return this.#number;
    },
    clearTimeout: (number) => {
      this.#due = this.#due.filter((timer) => timer.number !== number);
    },
  };

  /** Waits of the timers that are set, in milliseconds from now. */
  get waits_ms() {
    return this.#due.map(({ at_us }) => (at_us - this.now_us) / 1000);
  }

  /** Let time pass; what is due runs in order, and so do the promises that it settles. */
  async pass(durationMs) {
    const end_us = this.now_us + durationMs * 1000;
    await settle();
    for (;;) {
      const [next] = this.#due.filter(({ at_us }) => at_us <= end_us).sort((a, b) => a.at_us - b.at_us);
      if (!next) break;
      this.timers.clearTimeout(next.number);
      this.now_us = next.at_us;
      next.action();
      await settle();
    }
    this.now_us = end_us;
  }
}

/** Let every promise that can settle do so. */
export async function settle() {
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
}

/** A random source that always says the same. */
export const middle = () => 0.5;

export function notification(offset, { epoch = "e", due_us = 0, sent_us = due_us, data = {} } = {}) {
  return { id: `${epoch}.${offset}`, offset, topic: "default", due_us, sent_us, title: "T", body: "B", data };
}

export function connection({ transport = "sse", ...members } = {}) {
  return {
    transport,
    resumed: false,
    position: null,
    resumes_from: members.position ?? null,
    opened_client_us: 0,
    carrier: transport === "sse" ? "event-stream" : "websocket",
    ...members,
  };
}

export function arrival(members = {}) {
  return {
    notification: notification(1),
    connection: connection(),
    is_new: true,
    visible: true,
    received_client_us: 1000,
    displayed_client_us: null,
    ...members,
  };
}

export function sample(id = "e.1", members = {}) {
  return {
    id,
    transport: "sse",
    due_us: 0,
    sent_us: 0,
    received_client_us: 2000,
    displayed_client_us: null,
    clock_offset_us: 0,
    clock_bound_us: 300,
    state: "ok",
    outcome: "on_time",
    visible: true,
    ...members,
  };
}
