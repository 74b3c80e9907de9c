/** Draws the operator's page, and hands what the operator does to the desk. */

import { byId, setText } from "../elements.js";
import { root } from "../root.js";
import { BroadcastView } from "./broadcast_view.js";
import { DevicesView } from "./devices_view.js";
import { PlanView } from "./plan_view.js";
import { RoomView } from "./room_view.js";
import { RunsView } from "./runs_view.js";
import { SelfTestsView } from "./self_tests_view.js";

/** @typedef {import("./desk.js").Desk} Desk */
/** @typedef {import("./types.js").PageState} PageState */
/** @typedef {import("./types.js").Speech} Speech */

export class AdminView {
  #clock;
  #broadcast;
  #plan;
  #room;
  #devices;
  #runs;
  #selfTests;

  /**
   * @param {{speech: Speech, selfTest: Speech}} speeches `selfTest`: with the catalogue of the self-test
   * @param {Desk} desk
   * @param {import("../screen/server_clock.js").ServerClock} clock
   */
  constructor({ speech, selfTest }, desk, clock) {
    this.#clock = clock;
    this.#broadcast = new BroadcastView(speech, {
      onSend: (publish) => desk.broadcast(publish),
      onCopied: (isGood) => desk.copied(isGood),
    });
    this.#plan = new PlanView(speech, {
      onOpen: (order) => desk.experiments.open(order),
      onPhones: (phones) => desk.experiments.setPhones(phones),
    });
    this.#room = new RoomView(speech, {
      onControl: (control) => desk.experiments.control(control),
      onRemove: (seat) => desk.experiments.removeParticipant(seat),
    });
    this.#devices = new DevicesView(speech, {
      onDisconnect: ({ device }) => device !== null && desk.disconnect(device),
      onChosen: (device, isChosen) => desk.choose(device, isChosen),
    });
    this.#runs = new RunsView(speech, {
      onDelete: (run) => desk.experiments.deleteRun(run),
      onRestore: () => desk.experiments.restoreRun(),
      onStop: (run) => desk.experiments.stopRun(run),
      onAgain: (run) => this.#changeAndRunAgain(desk, run),
      onCompared: (run, isChosen) => desk.chooseToCompare(run, isChosen),
    });
    this.#selfTests = new SelfTestsView(speech, selfTest, {
      onShown: (isShown) => desk.showSelfTests(isShown),
    });
    this.#wire(desk);
  }

  /** @param {PageState} state */
  draw(state) {
    const { session, room, problem, word } = state;
    byId(document, "sign-in").hidden = session !== "out";
    for (const id of ["desk", "doors"]) byId(document, id).hidden = session !== "in";
    setText(byId(document, "sign-in-problem"), state.sign_in_problem);
    setText(byId(document, "problem"), problem);
    setText(byId(document, "word"), word);
    // Drawn at the door too: what was there for who has signed out goes from the page.
    if (session === "unknown") return;
    const serverUs = this.#clock.nowUs();
    const phase = room?.phase ?? "closed";
    const isFormShown = room !== null && (phase === "closed" || (phase === "finished" && state.is_changing));
    this.#broadcast.draw(state);
    this.#plan.draw(state.presets, { isShown: isFormShown, isStarting: state.starting_run !== null });
    this.#room.draw(room, (serverUs - state.heard_us) / 1_000_000);
    this.#devices.draw(state.devices, state.chosen, serverUs);
    this.#runs.draw(state.runs, state.deleted_run, state.compared);
    this.#selfTests.draw(state.self_tests);
    const link = /** @type {HTMLAnchorElement} */ (byId(document, "screen-link"));
    link.hidden = !room?.screen_url;
    if (room?.screen_url) link.href = root + room.screen_url;
  }

  /** @param {Desk} desk */
  #wire(desk) {
    byId(document, "sign-in").addEventListener("submit", (event) => {
      event.preventDefault();
      const form = /** @type {HTMLFormElement} */ (event.target);
      const token = String(new FormData(form).get("token") ?? "");
      form.reset();
      desk.signInByToken(token);
    });
    byId(document, "sign-out").addEventListener("click", () => desk.signOut());
    byId(document, "new-link").addEventListener("click", () => desk.newLink());
    byId(document, "again").addEventListener("click", () => desk.experiments.runAgain());
    byId(document, "put-away").addEventListener("click", () => desk.experiments.putAway());
    byId(document, "again-changed").addEventListener("click", () => this.#changeAndRunAgain(desk));
  }

  /**
   * @param {Desk} desk
   * @param {string} [run]
   */
  async #changeAndRunAgain(desk, run) {
    const found = await desk.experiments.planAgain(run);
    if (found) this.#plan.fillFromRun(found.plan, found);
  }
}
