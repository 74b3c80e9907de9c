/** The broadcast box: what to send to whom, what became of it, and what was sent before. */

import { byId, drawRows, fromTemplate, part, setText } from "../elements.js";
import { formatBoundMs, formatCount, formatMs, formatTime } from "../format.js";
import { root } from "../root.js";
import { curlLine, publishOf, receiversOf } from "./broadcast.js";
import { nameOf } from "./names.js";
import { receiptWords } from "./receipt.js";

/** @typedef {import("./types.js").PageState} PageState */
/** @typedef {import("./types.js").Publish} Publish */
/** @typedef {import("./types.js").Sent} Sent */
/** @typedef {import("./types.js").Speech} Speech */

export class BroadcastView {
  #speech;
  #onSend;
  /** @type {PageState | null} */
  #state = null;

  /**
   * @param {Speech} speech
   * @param {{onSend: (publish: Publish) => void, onCopied: (isGood: boolean) => void}} acts
   */
  constructor(speech, { onSend, onCopied }) {
    this.#speech = speech;
    this.#onSend = onSend;
    const form = byId(document, "broadcast");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      onSend(this.#wanted());
    });
    form.addEventListener("input", () => this.#state && this.draw(this.#state));
    byId(document, "copy-curl").addEventListener("click", async () => onCopied(await copyText(this.#curl())));
  }

  /** @param {PageState} state */
  draw(state) {
    this.#state = state;
    setText(byId(document, "target-hint"), this.#receiversWords(state));
    setText(byId(document, "curl"), this.#curl());
    this.#drawReceipt(state.followed);
    byId(document, "history-none").hidden = state.history.length > 0;
    drawRows(byId(document, "history"), state.history, {
      keyOf: ({ id }) => id,
      make: (sent) => this.#makeSent(sent),
      draw: () => {},
    });
  }

  /** @param {PageState["followed"]} followed */
  #drawReceipt(followed) {
    setText(byId(document, "receipt"), followed === null ? "" : receiptWords(followed, this.#speech));
    const rows = followed?.receipt.devices ?? [];
    byId(document, "receipt-details").hidden = rows.length === 0;
    const { t, language } = this.#speech;
    drawRows(byId(document, "receipt-rows"), rows, {
      keyOf: ({ device }) => device,
      make: () => fromTemplate(document, "receipt-row-template"),
      draw: (row, { device, name, transport, delay_ms, bound_ms, outcome }) => {
        setText(part(row, "name"), nameOf({ device, name }, this.#speech));
        setText(part(row, "transport"), t(`transport.${transport}`));
        const isKnown = delay_ms !== null && bound_ms !== null;
        const delay = isKnown && {
          delay: formatMs(delay_ms, language),
          bound: formatBoundMs(bound_ms, language),
        };
        setText(part(row, "delay"), delay ? t("receipt.delay_value", delay) : "–");
        setText(part(row, "outcome"), t(`outcome.${outcome}`));
      },
    });
  }

  /** @param {Sent} sent */
  #makeSent(sent) {
    const { t, language } = this.#speech;
    const row = fromTemplate(document, "history-template");
    setText(part(row, "title"), sent.title);
    setText(part(row, "body"), sent.body);
    const target = sent.targets?.devices
      ? t("target.chosen_count", { count: formatCount(sent.targets.devices.length, language) })
      : t(`target.${sent.targets?.transport ?? "all"}`);
    setText(part(row, "facts"), [formatTime(sent.sent_us, language), sent.topic, target].join(" · "));
    const again = part(row, "again");
    setText(again, t("history.again"));
    again.setAttribute("aria-label", t("history.again_label", { title: sent.title }));
    again.addEventListener("click", () => {
      const { title, body, topic, targets } = sent;
      this.#onSend({ title, body, topic, ...(targets ? { targets } : {}) });
    });
    return row;
  }

  /** @param {PageState} state */
  #receiversWords({ devices, chosen }) {
    const { t, language } = this.#speech;
    const publish = this.#wanted();
    if (publish.targets?.devices && chosen.size === 0) return t("target.choose_below");
    return t("target.receivers", { count: formatCount(receiversOf(devices, publish).length, language) });
  }

  #wanted() {
    const fields = new FormData(/** @type {HTMLFormElement} */ (byId(document, "broadcast")));
    const values = /** @type {import("./types.js").Wanted} */ (Object.fromEntries(fields));
    return publishOf(values, this.#state?.chosen ?? []);
  }

  #curl() {
    const publish = this.#wanted();
    return curlLine(location.origin + root, {
      ...publish,
      title: publish.title || this.#speech.t("curl.title"),
    });
  }
}

/**
 * Whether the text is on the clipboard. On plain http only the old way is there.
 *
 * @param {string} text
 */
async function copyText(text) {
  if (navigator.clipboard)
    return navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
  getSelection()?.selectAllChildren(byId(document, "curl"));
  return document.execCommand("copy");
}
