/** Draws the self-test: one card for each step, the current one open; a function of what was answered. */

import { byId, drawRows, fromTemplate, part, setText } from "../elements.js";
import { STEPS } from "./steps.js";
import { foundWords } from "./words.js";

/** @typedef {import("./steps.js").Answer} Answer */
/** @typedef {import("./steps.js").Kind} Kind */
/** @typedef {import("./steps.js").Protocol} Protocol */
/** @typedef {import("./record.js").Saving} Saving */

/** @typedef {"start" | "yes" | "no" | "skip" | "again"} Act what a person may do with a step */

/** Which buttons a step shows, by its kind and state; a step that has been answered can be done again. */
const ACTS = /** @type {Record<Kind, Record<"waiting" | "running", Act[]>>} */ ({
  auto: { waiting: ["start", "skip"], running: [] },
  guided: { waiting: ["start", "skip"], running: ["no", "skip"] },
  asked: { waiting: ["yes", "no", "skip"], running: ["yes", "no", "skip"] },
});

const ALL_ACTS = /** @type {const} */ (["start", "yes", "no", "skip", "again"]);

export class View {
  #document;
  #t;
  #language;
  #onAct;

  /**
   * @param {Document} document
   * @param {{t: import("../texts.js").Translate, language: string, onAct: (step: string, act: Act) => void}} how
   */
  constructor(document, { t, language, onAct }) {
    this.#document = document;
    this.#t = t;
    this.#language = language;
    this.#onAct = onAct;
  }

  /** @param {Protocol} protocol */
  draw(protocol) {
    const { current } = protocol;
    drawRows(byId(this.#document, "steps"), STEPS, {
      keyOf: ([step]) => step,
      make: ([step]) => this.#makeRow(step),
      draw: (row, [step, kind]) => this.#drawRow(row, step, kind, protocol.answerTo(step), step === current),
    });
    const counts = protocol.counts();
    const key = current === null ? "summary.finished" : "summary.under_way";
    setText(byId(this.#document, "summary"), this.#t(key, counts));
  }

  /** @param {Saving} saving */
  drawSaving(saving) {
    setText(byId(this.#document, "saving"), saving === "idle" ? "" : this.#t(`saving.${saving}`));
  }

  /** @param {import("../forgetting.js").ForgettingState | null} state */
  drawForgetting(state) {
    setText(byId(this.#document, "forget"), this.#t(state === null ? "forget.first" : `forget.${state}`));
    setText(byId(this.#document, "forget-words"), state === "done" ? this.#t("forget.gone") : "");
  }

  /** The keyboard goes on where the test does. @param {string | null} step */
  focus(step) {
    const row = this.#document.querySelector(`#steps > [data-key="${step}"]`);
    const target = row === null ? byId(this.#document, "summary") : part(row, "title");
    target.focus();
  }

  /** @param {string} step */
  #makeRow(step) {
    const row = fromTemplate(this.#document, "step-template");
    setText(part(row, "title"), this.#t(`step.${step}`));
    setText(part(row, "task"), this.#t(`task.${step}`));
    for (const act of ALL_ACTS) part(row, act).addEventListener("click", () => this.#onAct(step, act));
    return row;
  }

  /**
   * @param {HTMLElement} row
   * @param {string} step
   * @param {Kind} kind
   * @param {Answer} answer
   * @param {boolean} isCurrent
   */
  #drawRow(row, step, kind, answer, isCurrent) {
    const { state } = answer;
    row.dataset.state = state;
    if (isCurrent) row.setAttribute("aria-current", "step");
    else row.removeAttribute("aria-current");
    const isOpen = state === "running" || (state === "waiting" && isCurrent);
    part(row, "task").hidden = !isOpen;
    setText(part(row, "state"), state === "waiting" ? "" : this.#t(`state.${state}`));
    setText(part(row, "found"), foundWords(answer, { t: this.#t, language: this.#language }));
    const acts = /** @type {Act[]} */ (
      !isOpen ? (state === "waiting" ? [] : ["again"]) : ACTS[kind][/** @type {"waiting"} */ (state)]
    );
    for (const act of ALL_ACTS) {
      const button = part(row, act);
      button.hidden = !acts.includes(act);
      setText(button, this.#t(`act.${act}${act === "no" && kind === "guided" ? "_guided" : ""}`));
      button.setAttribute("aria-describedby", `title-${step}`);
    }
    part(row, "title").id = `title-${step}`;
  }
}
