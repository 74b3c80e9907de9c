/** Experiments and their runs, as the operator opens, conducts, ends, repeats and deletes them. */

import { isGood } from "./api.js";
import { isolatedName } from "./names.js";

/** How often, and how many times, a start is looked at: a runner is there within a few seconds, or not at all. */
const START_LOOK_MS = 1_000;
const START_LOOKS_MAX = 20;

export class Experiments {
  #core;
  #phones = 6;

  /** @param {import("./desk_core.js").DeskCore} core */
  constructor(core) {
    this.#core = core;
  }

  /**
   * The presets for so many phones.
   *
   * @param {number} phones
   */
  async setPhones(phones) {
    this.#phones = phones;
    await this.readPresets();
  }

  async readPresets() {
    const phones = this.#phones;
    const answer = await this.#core.api.ask("GET", `/api/presets?phones=${phones}`);
    if (isGood(answer) && phones === this.#phones) this.#core.set({ presets: answer.data });
  }

  /** @param {import("./plan_view.js").Order} order */
  async open(order) {
    const answer = await this.#core.api.ask("POST", "/api/runs", { body: order });
    if (!this.#core.take(answer)) return;
    this.#core.set({ is_changing: false, starting_run: answer.data.run });
    this.#core.acted("word.starting");
    this.#watchStart(answer.data.run, START_LOOKS_MAX);
  }

  /**
   * A runner takes some seconds until it lets phones gather, and may end before that: then it says why, or its log does.
   *
   * @param {string} run
   * @param {number} looksLeft
   */
  #watchStart(run, looksLeft) {
    this.#core.timers.setTimeout(async () => {
      const answer = await this.#core.api.ask("GET", `/api/runs/${encodeURIComponent(run)}`);
      const runner = answer.data?.runner;
      const isOpen = this.#core.state.room?.run === run || (isGood(answer) && runner?.phones === null);
      if (runner?.state === "ended" && runner.exit_code !== 0) {
        const words = this.#core.speech.t("problem.runner", {
          words: runner.ending?.text || lastLine(runner.last_words),
        });
        this.#core.set({ starting_run: null, word: "", problem: words });
      } else if (isOpen || looksLeft === 0) {
        this.#core.set({ starting_run: null, word: "" });
        this.#core.onActed();
      } else {
        this.#watchStart(run, looksLeft - 1);
      }
    }, START_LOOK_MS);
  }

  /** The same experiment once more; the server draws a new order. */
  async runAgain() {
    const { plan, wanted_count } = this.#core.state.room ?? {};
    if (plan && wanted_count)
      await this.open({
        plan: /** @type {import("./types.js").Plan} */ (plan),
        phones: wanted_count,
      });
  }

  /**
   * Open the form for another run like the one in the room, or like an earlier one; its plan, if it is known.
   *
   * @param {string} [run]
   * @returns {Promise<{plan: Partial<import("./types.js").Plan>, phones: number, built_in: boolean} | null>}
   */
  async planAgain(run) {
    let [plan, phones, built_in] = [
      this.#core.state.room?.plan,
      this.#core.state.room?.wanted_count ?? 1,
      false,
    ];
    if (run !== undefined) {
      const answer = await this.#core.api.ask("GET", `/api/runs/${encodeURIComponent(run)}`);
      if (!this.#core.take(answer)) return null;
      plan = answer.data.plan ?? undefined;
      phones = answer.data.phones || Math.max(1, ...(plan?.client_counts ?? []));
      built_in = Boolean(answer.data.simulated);
    }
    if (plan === undefined) return null;
    this.#core.set({ is_changing: true });
    return { plan, phones, built_in };
  }

  /** @param {import("./room_view.js").Control} control */
  async control(control) {
    if (control === "stop") await this.#stop();
    else await this.#core.act("POST", `/api/room/${control}`);
  }

  async #stop() {
    const { t } = this.#core.speech;
    const { phase, run } = this.#core.state.room ?? {};
    const isUnderWay = phase !== "gathering";
    if (isUnderWay && !(await this.#core.question(t("question.stop"), t("room.stop")))) return;
    // The runner ends what it has begun and writes the report; a room that no runner opened is just closed.
    const answer = await this.#core.api.ask("POST", `/api/runs/${encodeURIComponent(run ?? "")}/stop`);
    if (isUnderWay && isGood(answer)) this.#core.acted("word.stopping");
    else await this.#core.act("DELETE", "/api/room");
  }

  /** @param {import("./types.js").OperatorSeat} seat */
  async removeParticipant(seat) {
    const { t } = this.#core.speech;
    const name = isolatedName(seat, this.#core.speech);
    if (!(await this.#core.question(t("question.remove", { name }), t("seat.remove")))) return;
    await this.#core.act("DELETE", `/api/room/participants/${encodeURIComponent(seat.device)}`);
  }

  async putAway() {
    await this.#core.act("DELETE", "/api/room");
  }

  /** @param {string} run */
  async stopRun(run) {
    await this.#core.act("POST", `/api/runs/${encodeURIComponent(run)}/stop`, { word: "word.stopping" });
  }

  /** @param {string} run */
  async deleteRun(run) {
    if (await this.#core.act("DELETE", `/api/runs/${encodeURIComponent(run)}`))
      this.#core.set({ deleted_run: run, runs: this.#core.state.runs.filter(({ id }) => id !== run) });
  }

  async restoreRun() {
    const run = this.#core.state.deleted_run ?? "";
    if (
      await this.#core.act("POST", `/api/runs/${encodeURIComponent(run)}/restore`, { word: "word.restored" })
    )
      this.#core.set({ deleted_run: null });
  }
}

/**
 * What a process said last; the lines before it are how it came to that.
 *
 * @param {string | null} words
 */
function lastLine(words) {
  return (words ?? "").trim().split("\n").slice(-1)[0] ?? "";
}
