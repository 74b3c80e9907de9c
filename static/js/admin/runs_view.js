/** What was measured before: open, take away, stop, delete, and have back. */

import { byId, drawRows, fromTemplate, part, setText } from "../elements.js";
import { formatCount } from "../format.js";

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
   *   onAgain: (run: string) => void}} acts
   */
  constructor(speech, acts) {
    this.#speech = speech;
    this.#acts = acts;
    byId(document, "undo-button").addEventListener("click", acts.onRestore);
  }

  /**
   * @param {readonly Run[]} runs
   * @param {string | null} deletedRun
   */
  draw(runs, deletedRun) {
    const { t } = this.#speech;
    byId(document, "runs-none").hidden = runs.length > 0;
    byId(document, "compare-hint").hidden = runs.length === 0;
    byId(document, "undo").hidden = deletedRun === null;
    setText(byId(document, "undo-text"), deletedRun === null ? "" : t("runs.deleted", { run: deletedRun }));
    drawRows(byId(document, "runs"), runs, {
      keyOf: ({ id }) => id,
      make: (run) => this.#makeRun(run),
      draw: (row, run) => this.#drawRun(row, run),
    });
  }

  /** @param {Run} run */
  #makeRun({ id }) {
    const { t } = this.#speech;
    const row = fromTemplate(document, "run-template");
    const path = `/api/runs/${encodeURIComponent(id)}`;
    for (const [name, href] of [
      ["open", `${path}/report`],
      ["export", `${path}/export.zip`],
    ])
      /** @type {HTMLAnchorElement} */ (part(row, name)).href = href;
    for (const name of ["open", "again", "export", "compare", "stop", "delete"]) {
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
   */
  #drawRun(row, run) {
    const isRunning = run.state === RUNNING;
    setText(part(row, "started"), startedWords(run, this.#speech));
    setText(part(row, "facts"), factsWords(run, this.#speech));
    setText(part(row, "verdict"), verdictWords(run, this.#speech));
    for (const name of ["open", "again", "export", "compare"])
      part(row, name).hidden = !WRITTEN.includes(run.state);
    part(row, "delete").hidden = isRunning;
    part(row, "stop").hidden = !isRunning;
  }
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
