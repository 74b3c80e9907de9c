/** Draws what was measured so far: two charts, their legend, the same as a table, and what became of everything sent. */

import { byId, drawRows, fromTemplate, part, setText } from "../elements.js";
import { formatCount } from "../format.js";
import { armTitle, armsOf, rowsOf, totals } from "./arms.js";
import { layOut } from "./bands.js";
import { drawChart, legendMark } from "./chart.js";
import { msOrNothing } from "./words.js";

/** @typedef {import("./types.js").Note} Note */
/** @typedef {import("./types.js").Results} Results */
/** @typedef {import("./types.js").Speech} Speech */

const COUNTS = /** @type {const} */ (["delivered", "late", "lost", "asleep"]);

/** The newest; the report has them all. */
const NOTES_MAX = 5;

export class ResultsView {
  #document;
  #speech;
  #shown = "";

  /**
   * @param {Document} document
   * @param {Speech} speech
   */
  constructor(document, speech) {
    this.#document = document;
    this.#speech = speech;
  }

  /**
   * @param {Results} results
   * @param {Note[]} notes
   */
  draw(results, notes) {
    const shown = JSON.stringify([results, notes]);
    if (shown === this.#shown) return;
    this.#shown = shown;
    const total = totals(results);
    for (const name of COUNTS)
      setText(byId(this.#document, `total-${name}`), formatCount(total[name], this.#speech.language));
    this.#drawLegend(results);
    this.#drawCharts(results);
    this.#drawTable(results);
    this.#drawNotes(notes.slice(-NOTES_MAX).reverse());
  }

  /** @param {Results} results */
  #drawLegend(results) {
    const items = armsOf(results).map((arm, series) => {
      const item = this.#document.createElement("li");
      item.append(legendMark(series % 4), armTitle(arm, this.#speech));
      return item;
    });
    byId(this.#document, "legend").replaceChildren(...items);
  }

  /** @param {Results} results */
  #drawCharts(results) {
    const { t, language } = this.#speech;
    const format = new Intl.NumberFormat(language, { maximumFractionDigits: 2 });
    const words = {
      number: (/** @type {number} */ value) => format.format(value),
      x_label: t("chart.phones"),
    };
    const delay = layOut(results, (cell) => ({
      value: cell.delay_ms_p50,
      low: cell.delay_ms_p25,
      high: cell.delay_ms_p75,
    }));
    const hasDelay = this.#drawChart("delay-chart", delay, words);
    const cpu = layOut(results, (cell) => ({ value: cell.cpu_us_per_delivery }));
    const hasCpu = this.#drawChart("cpu-chart", cpu, words);
    byId(this.#document, "legend").hidden = !hasDelay && !hasCpu;
  }

  /**
   * Axes without a value look broken: as long as no block is valid, the notes below say why there is nothing.
   *
   * @param {string} id
   * @param {import("./bands.js").Chart} chart
   * @param {{number: (value: number) => string, x_label: string}} words
   * @returns {boolean} whether there is anything to see
   */
  #drawChart(id, chart, words) {
    const place = byId(this.#document, id);
    drawChart(place, chart, words);
    const isEmpty = chart.lines.every(({ points }) => points.length === 0);
    /** @type {HTMLElement} */ (place.parentElement).hidden = isEmpty;
    return !isEmpty;
  }

  /** @param {Results} results */
  #drawTable(results) {
    const { language } = this.#speech;
    const whole = new Intl.NumberFormat(language, { maximumFractionDigits: 0 });
    drawRows(byId(this.#document, "results-rows"), rowsOf(results), {
      keyOf: ({ arm, clients }) => `${arm} ${clients}`,
      make: () => fromTemplate(this.#document, "result-template"),
      draw: (row, { arm, clients, cell }) => {
        setText(part(row, "arm"), armTitle(arm, this.#speech));
        setText(part(row, "clients"), formatCount(clients, language));
        setText(part(row, "median"), msOrNothing(cell.delay_ms_p50, this.#speech));
        setText(part(row, "quartiles"), quartilesWords(cell, this.#speech));
        const cpu = cell.cpu_us_per_delivery;
        setText(part(row, "cpu"), cpu === null || cpu === undefined ? "–" : whole.format(cpu));
        for (const name of COUNTS) setText(part(row, name), formatCount(cell[name], language));
        setText(part(row, "blocks"), formatCount(cell.blocks, language));
      },
    });
  }

  /** @param {Note[]} notes in the page's language: the server says them so */
  #drawNotes(notes) {
    drawRows(byId(this.#document, "notes"), notes, {
      keyOf: ({ text }) => text,
      make: () => this.#document.createElement("li"),
      draw: (item, { text }) => setText(item, text),
    });
  }
}

/**
 * @param {import("./types.js").Cell} cell
 * @param {Speech} speech
 */
function quartilesWords({ delay_ms_p25, delay_ms_p75 }, speech) {
  const quartiles = [delay_ms_p25, delay_ms_p75];
  if (quartiles.includes(null)) return "–";
  return quartiles.map((value) => msOrNothing(value, speech)).join(" – ");
}
