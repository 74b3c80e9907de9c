/** Draws the page's state. The page is a function of it: the same state gives the same page. */

import { byId, drawRows, fromTemplate, part as partOf, setText } from "./elements.js";
import { formatCount, formatTime } from "./format.js";
import {
  clockWords,
  delayWords,
  leftOutWords,
  medianWords,
  outboxWords,
  statusWords,
  unknownWords,
} from "./words.js";

/** @typedef {import("./types.js").Notification} Notification */
/** @typedef {import("./types.js").Problem} Problem */
/** @typedef {import("./types.js").Transport} Transport */
/** @typedef {import("./types.js").WorkerState} WorkerState */
/** @typedef {import("./words.js").Speech} Speech */

/**
 * @typedef {{notification: Notification, transport: Transport, reading: import("./types.js").ArrivalReading}} Newest
 */

/** @typedef {{worker: WorkerState | null, received: import("./received.js").Received, problem: Problem | null, isStarting: boolean}} PageState */

/** @type {Transport[]} */
const TRANSPORTS = ["sse", "socketio"];

/** The page's elements, and how each shows its part of the state. */
export class View {
  #document;
  #speech;
  /** @type {Record<Transport, Element>} */
  #tallies;

  /**
   * @param {Document} document
   * @param {Speech} speech
   */
  constructor(document, speech) {
    this.#document = document;
    this.#speech = speech;
    this.#tallies = { sse: this.#addTally("sse"), socketio: this.#addTally("socketio") };
  }

  /**
   * @param {PageState} state
   * @param {{isAlone: boolean, isInvited: boolean}} where `isAlone`: in no room, where the room's part of the page
   *   leads; `isInvited`: a room could be joined
   */
  draw({ worker, received, problem, isStarting }, { isAlone, isInvited }) {
    for (const id of ["tagline", "control"]) this.#byId(id).hidden = !isAlone;
    // Where an experiment waits to be joined, figures of a listening that nobody began would only be in the way.
    for (const id of ["delays", "clock-card"])
      this.#byId(id).hidden = !isAlone || (isInvited && worker === null);
    const [newest, ...earlier] = received.all;
    this.#byId("received").hidden = (!isAlone || (isInvited && worker === null)) && newest === undefined;
    const { t } = this.#speech;
    const phase = worker?.phase ?? "ready";
    const isOff = phase === "ready" || phase === "stopped";
    setText(this.#byId("status"), statusWords({ phase, transport: worker?.transport ?? null }, this.#speech));
    setText(this.#byId("toggle"), t(isOff ? "choose.start" : "choose.stop"));
    // A button that is really disabled would lose the keyboard's focus.
    this.#byId("toggle").removeAttribute("disabled");
    this.#byId("toggle").setAttribute("aria-disabled", String(isStarting || phase === "stopping"));
    this.#byId("choice").toggleAttribute("disabled", isStarting || !isOff);
    this.#drawProblems([...(problem ? [problem] : []), ...(worker?.problems ?? [])]);
    if (worker) this.#drawWorker(worker);
    if (newest) this.#drawNewest(newest);
    this.#byId("earlier-title").hidden = earlier.length === 0;
    drawRows(this.#byId("earlier"), earlier, {
      keyOf: ({ notification }) => notification.id,
      make: () => fromTemplate(this.#document, "earlier-template"),
      draw: (row, each) => this.#drawEarlier(row, each),
    });
  }

  /**
   * @param {HTMLElement} row
   * @param {Newest} each
   */
  #drawEarlier(row, { notification }) {
    setText(partOf(row, "title"), notification.title);
    setText(partOf(row, "body"), notification.body);
    setText(partOf(row, "topic"), notification.topic);
    setText(partOf(row, "time"), formatTime(notification.sent_us, this.#speech.language));
  }

  /** @param {Problem[]} problems */
  #drawProblems(problems) {
    const place = this.#byId("problems");
    const shown = problems.join(" ");
    if (place.dataset.shown === shown) return;
    place.dataset.shown = shown;
    place.replaceChildren(...problems.map((problem) => this.#problemElement(problem)));
  }

  /** @param {Problem} problem */
  #problemElement(problem) {
    const element = fromTemplate(this.#document, "problem-template");
    element.textContent = this.#speech.t(`problem.${problem}`);
    return element;
  }

  /** @param {WorkerState} worker */
  #drawWorker({ tallies, clock, outbox, phase }) {
    const { t } = this.#speech;
    for (const transport of TRANSPORTS) this.#drawTally(this.#tallies[transport], tallies[transport]);
    setText(this.#byId("clock"), phase === "stopped" ? t("clock.off") : clockWords(clock, this.#speech));
    setText(this.#byId("clock-channel"), t(`clock.channel_${clock.channel ?? "none"}`));
    setText(this.#byId("outbox"), outboxWords(outbox, this.#speech));
  }

  /** @param {Newest} newest */
  #drawNewest({ notification, transport, reading }) {
    const { t, language } = this.#speech;
    const place = this.#byId("newest");
    this.#byId("newest-none").hidden = true;
    place.hidden = false;
    setText(part(place, "newest", "title"), notification.title);
    setText(part(place, "newest", "body"), notification.body);
    setText(part(place, "newest", "topic"), notification.topic);
    setText(part(place, "newest", "time"), formatTime(notification.sent_us, language));
    setText(part(place, "newest", "transport"), t(`transport.${transport}`));
    setText(part(place, "newest", "delay"), delayWords(reading, this.#speech));
  }

  /**
   * @param {Element} place
   * @param {import("./types.js").TallyReading} tally
   */
  #drawTally(place, tally) {
    const [figure, note] = medianWords(tally.median, this.#speech);
    setText(part(place, "tally", "median"), figure);
    setText(part(place, "tally", "median_note"), note);
    setText(part(place, "tally", "left_out"), leftOutWords(tally.left_out, this.#speech));
    setText(part(place, "tally", "unknown"), unknownWords(tally.unknown_count, this.#speech));
    for (const element of place.querySelectorAll("[data-count]")) {
      const name = /** @type {"received_count"} */ (element.getAttribute("data-count"));
      setText(element, formatCount(tally[name], this.#speech.language));
    }
  }

  /** @param {Transport} transport */
  #addTally(transport) {
    const element = fromTemplate(this.#document, "tally-template");
    element.dataset.transport = transport;
    setText(part(element, "tally", "name"), this.#speech.t(`transport.${transport}`));
    const [figure, note] = medianWords(null, this.#speech);
    setText(part(element, "tally", "median"), figure);
    setText(part(element, "tally", "median_note"), note);
    this.#byId("tallies").append(element);
    return element;
  }

  /** @param {string} id */
  #byId(id) {
    return byId(this.#document, id);
  }
}

/**
 * @param {Element} place
 * @param {string} group
 * @param {string} name
 */
function part(place, group, name) {
  return /** @type {HTMLElement} */ (place.querySelector(`[data-${group}="${name}"]`));
}
