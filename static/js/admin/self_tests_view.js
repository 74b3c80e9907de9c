/** What phones answered at /selftest: which phone, how it went, what failed, each step, and the remarks. */

import { byId, drawRows, fromTemplate, part, setText } from "../elements.js";
import { formatCount } from "../format.js";
import { STEPS } from "../selftest/steps.js";
import { stepWords } from "../selftest/words.js";
import { nameOf } from "./names.js";

/** @typedef {import("../selftest/words.js").Answered} Answered */
/** @typedef {import("./types.js").SelfTest} SelfTest */
/** @typedef {import("./types.js").Speech} Speech */

export class SelfTestsView {
  #speech;
  #steps;

  /**
   * @param {Speech} speech
   * @param {Speech} steps the same with the catalogue of the self-test
   * @param {{onShown: (isShown: boolean) => void}} acts
   */
  constructor(speech, steps, { onShown }) {
    this.#speech = speech;
    this.#steps = steps;
    const details = /** @type {HTMLDetailsElement} */ (byId(document, "self-tests-details"));
    details.addEventListener("toggle", () => onShown(details.open));
  }

  /** @param {readonly SelfTest[] | null} records newest first; null: not known yet */
  draw(records) {
    byId(document, "self-tests-none").hidden = records === null || records.length > 0;
    drawRows(byId(document, "self-tests"), records ?? [], {
      keyOf: ({ device }) => device,
      make: () => fromTemplate(document, "self-test-template"),
      draw: (row, record) => this.#drawRecord(row, record),
    });
  }

  /**
   * @param {HTMLElement} row
   * @param {SelfTest} record
   */
  #drawRecord(row, record) {
    const failed = record.steps.filter(({ state }) => state === "failed");
    setText(part(row, "phone"), phoneWords(record, this.#speech));
    setText(part(row, "facts"), factsWords(record, this.#speech));
    this.#drawSteps(part(row, "failed"), failed);
    this.#drawSteps(part(row, "steps"), record.steps);
    part(row, "said").hidden = record.remarks === "";
    setText(part(row, "remarks"), record.remarks);
  }

  /**
   * @param {HTMLElement} place
   * @param {readonly Answered[]} steps
   */
  #drawSteps(place, steps) {
    drawRows(place, steps, {
      // By its place: a program that made up its steps may have given two the same name.
      keyOf: (step) => String(steps.indexOf(step)),
      make: () => document.createElement("li"),
      draw: (line, step) => setText(line, stepWords(step, this.#steps)),
    });
  }
}

/**
 * As much as the browser told of itself.
 *
 * @param {SelfTest} record
 * @param {Speech} speech
 */
export function phoneWords({ facts }, { t }) {
  return [facts.model, facts.browser].filter(Boolean).join(" · ") || t("self_tests.unknown");
}

/**
 * When, how many steps went how, and the end of the device's id, by which it is found among the devices.
 *
 * @param {SelfTest} record
 * @param {Speech} speech
 */
export function factsWords({ device, received_us, steps }, speech) {
  const { t, language } = speech;
  const at = new Date(received_us / 1000);
  const count = (/** @type {string} */ wanted) =>
    formatCount(steps.filter(({ state }) => state === wanted).length, language);
  const counts = t("self_tests.counts", {
    all: formatCount(STEPS.length, language),
    passed: count("passed"),
    failed: count("failed"),
    skipped: count("skipped"),
  });
  return [
    at.toLocaleString(language, { dateStyle: "medium", timeStyle: "short" }),
    counts,
    nameOf({ device, name: null }, speech),
  ].join(" · ");
}
