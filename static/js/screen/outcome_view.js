/** Draws how an experiment ended: the verdict, its table, and what can be taken away. */

import { byId, setText } from "../elements.js";
import { root } from "../root.js";

/** @typedef {import("./types.js").Outcome} Outcome */
/** @typedef {import("./types.js").Speech} Speech */

export class OutcomeView {
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

  /** @param {Outcome | null} outcome */
  draw(outcome) {
    const shown = JSON.stringify(outcome);
    if (shown === this.#shown) return;
    this.#shown = shown;
    const { t, language } = this.#speech;
    const verdict = outcome?.verdict;
    const sentence = language === "id" ? verdict?.sentence_id : verdict?.sentence_en;
    setText(byId(this.#document, "verdict"), sentence ?? t("outcome.none"));
    this.#drawTable(outcome?.table ?? null);
    this.#drawDownloads(outcome?.downloads ?? []);
  }

  /** @param {Outcome["table"]} table */
  #drawTable(table) {
    const place = byId(this.#document, "outcome-table");
    const isThere = table !== null && Array.isArray(table.headings) && Array.isArray(table.rows);
    byId(this.#document, "outcome-scroll").hidden = !isThere;
    if (!isThere) return;
    const head = this.#document.createElement("thead");
    const headings = this.#speech.language === "id" ? table.headings_id : table.headings;
    head.append(this.#row(headings ?? table.headings, "th"));
    const body = this.#document.createElement("tbody");
    body.append(...table.rows.map((cells) => this.#row(cells, "td")));
    place.replaceChildren(head, body);
  }

  /**
   * @param {readonly (string | number | null)[]} cells
   * @param {"th" | "td"} name
   */
  #row(cells, name) {
    const row = this.#document.createElement("tr");
    for (const cell of cells) {
      const element = this.#document.createElement(name);
      if (name === "th") element.setAttribute("scope", "col");
      element.textContent = this.#words(cell);
      row.append(element);
    }
    return row;
  }

  /** @param {string | number | null} cell */
  #words(cell) {
    if (cell === null) return "–";
    if (typeof cell === "string") return cell;
    return new Intl.NumberFormat(this.#speech.language, { maximumFractionDigits: 6 }).format(cell);
  }

  /** @param {Outcome["downloads"]} downloads */
  #drawDownloads(downloads) {
    const links = downloads
      .filter(({ url }) => isOurs(url, location.origin))
      .map(({ name, url }) => {
        const item = this.#document.createElement("li");
        const link = this.#document.createElement("a");
        link.href = root + url;
        link.textContent = this.#speech.t(`download.${name}`);
        item.append(link);
        return item;
      });
    byId(this.#document, "downloads").replaceChildren(...links);
  }
}

/**
 * Whether an address is this server's, as a browser reads it; a `javascript:` or foreign one is not.
 *
 * @param {string} url
 * @param {string} origin of the page
 */
export function isOurs(url, origin) {
  try {
    return new URL(url, origin).origin === origin;
  } catch {
    // No address at all.
    return false;
  }
}
