/** What was measured before: open, compare, take away, stop, delete, and have back. */

import { byId, drawRows, fromTemplate, part, setText } from "../elements.js";
import { formatCount } from "../format.js";
import { root } from "../root.js";

/** @typedef {import("./types.js").Run} Run */
/** @typedef {import("./types.js").Speech} Speech */

const RUNNING = "running";

/** Runs of these states have a report. */
const WRITTEN = ["complete", "incomplete"];

export class RunsView {
  #speech;
  #acts;

  /**
   * @param {Speech} speech
   * @param {{onDelete: (run: string) => void, onRestore: () => void, onStop: (run: string) => void,
   *   onAgain: (run: string) => void, onCompared: (run: string, isChosen: boolean) => void}} acts
   */
  constructor(speech, acts) {
    this.#speech = speech;
    this.#acts = acts;
    byId(document, "undo-button").addEventListener("click", acts.onRestore);
  }

  /**
   * @param {readonly Run[]} runs
   * @param {string | null} deletedRun
   * @param {ReadonlySet<string>} compared
   */
  draw(runs, deletedRun, compared) {
    const { t } = this.#speech;
    byId(document, "runs-none").hidden = runs.length > 0;
    this.#drawComparing(runs, compared);
    byId(document, "undo").hidden = deletedRun === null;
    setText(byId(document, "undo-text"), deletedRun === null ? "" : t("runs.deleted", { run: deletedRun }));
    drawRows(byId(document, "runs"), runs, {
      keyOf: ({ id }) => id,
      make: (run) => this.#makeRun(run),
      draw: (row, run) => this.#drawRun(row, run, compared),
    });
  }

  /**
   * The way to the comparison of what is chosen; the oldest first, against which the others are set.
   *
   * @param {readonly Run[]} runs newest first
   * @param {ReadonlySet<string>} compared
   */
  #drawComparing(runs, compared) {
    const { t, language } = this.#speech;
    const chosen = runs.filter((run) => isWritten(run) && compared.has(run.id)).map(({ id }) => id);
    byId(document, "comparing").hidden = runs.filter(isWritten).length < 2;
    const link = /** @type {HTMLAnchorElement} */ (byId(document, "compare"));
    link.hidden = chosen.length < 2;
    setText(link, t("runs.compare_chosen", { count: formatCount(chosen.length, language) }));
    link.href = root + comparisonPath(chosen.reverse(), language);
  }

  /** @param {Run} run */
  #makeRun({ id }) {
    const { t, language } = this.#speech;
    const row = fromTemplate(document, "run-template");
    const path = `${root}/api/runs/${encodeURIComponent(id)}`;
    for (const [name, href] of [
      ["open", `${path}/report?lang=${language}`],
      ["export", `${path}/export.zip?lang=${language}`],
    ])
      /** @type {HTMLAnchorElement} */ (part(row, name)).href = href;
    const box = /** @type {HTMLInputElement} */ (part(row, "compared"));
    box.setAttribute("aria-label", t("runs.act_label", { act: t("runs.compare"), run: id }));
    box.addEventListener("change", () => this.#acts.onCompared(id, box.checked));
    for (const name of ["open", "again", "export", "stop", "delete"]) {
      setText(part(row, name), t(`runs.${name}`));
      part(row, name).setAttribute("aria-label", t("runs.act_label", { act: t(`runs.${name}`), run: id }));
    }
    part(row, "delete").addEventListener("click", () => this.#acts.onDelete(id));
    part(row, "again").addEventListener("click", () => this.#acts.onAgain(id));
    part(row, "stop").addEventListener("click", () => this.#acts.onStop(id));
    return row;
  }

  /**
   * @param {HTMLElement} row
   * @param {Run} run
   * @param {ReadonlySet<string>} compared
   */
  #drawRun(row, run, compared) {
    const isRunning = run.state === RUNNING;
    setText(part(row, "started"), startedWords(run, this.#speech));
    setText(part(row, "facts"), factsWords(run, this.#speech));
    setText(part(row, "verdict"), verdictWords(run, this.#speech));
    for (const name of ["open", "again", "export", "compare"]) part(row, name).hidden = !isWritten(run);
    /** @type {HTMLInputElement} */ (part(row, "compared")).checked = compared.has(run.id);
    part(row, "delete").hidden = isRunning;
    part(row, "stop").hidden = !isRunning;
  }
}

/** @param {Run} run */
function isWritten({ state }) {
  return WRITTEN.includes(state);
}

/**
 * @param {readonly string[]} runs the first is what the others are set against
 * @param {string} language
 */
export function comparisonPath(runs, language) {
  const query = new URLSearchParams([...runs.map((run) => ["run", run]), ["lang", language]]);
  return `/api/comparisons?${query}`;
}

/**
 * @param {Run} run
 * @param {Speech} speech
 */
function startedWords({ id, started }, { language }) {
  const time = started === null ? NaN : Date.parse(started);
  if (Number.isNaN(time)) return id;
  return new Date(time).toLocaleString(language, { dateStyle: "medium", timeStyle: "short" });
}

/**
 * @param {Run} run
 * @param {Speech} speech
 */
export function factsWords({ id, profile, phones, simulated, state }, { t, language }) {
  const phonesWords = phones ? t("runs.phones", { count: formatCount(phones, language) }) : "";
  const who = simulated ? t("runs.clients") : phonesWords;
  return [t(`state.${state}`), profile ?? "", who, id].filter(Boolean).join(" · ");
}

/**
 * What was found: the verdict's sentence, of an older run in English only; of a damaged one what is wrong with it.
 *
 * @param {Run} run
 * @param {Speech} speech
 */
export function verdictWords({ verdict, problem }, { language }) {
  if (problem) return problem;
  if (typeof verdict === "string") return verdict;
  return String(verdict?.[`sentence_${language}`] ?? verdict?.sentence_en ?? verdict?.sentence ?? "");
}
