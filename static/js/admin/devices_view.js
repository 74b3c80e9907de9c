/** The live table of connections, SSE and Socket.IO alike. */

import { byId, drawRows, fromTemplate, part, setText } from "../elements.js";
import { formatBoundMs, formatCount } from "../format.js";
import { msOrNothing } from "../screen/words.js";
import { nameOf } from "./names.js";

/** @typedef {import("./types.js").Device} Device */
/** @typedef {import("./types.js").Speech} Speech */

export class DevicesView {
  #speech;
  #onDisconnect;
  #onChosen;

  /**
   * @param {Speech} speech
   * @param {{onDisconnect: (device: Device) => void, onChosen: (device: string, isChosen: boolean) => void}} acts
   */
  constructor(speech, { onDisconnect, onChosen }) {
    this.#speech = speech;
    this.#onDisconnect = onDisconnect;
    this.#onChosen = onChosen;
  }

  /**
   * @param {readonly Device[]} devices
   * @param {ReadonlySet<string>} chosen
   * @param {number} serverUs
   */
  draw(devices, chosen, serverUs) {
    const { t, language } = this.#speech;
    const count = formatCount(devices.length, language);
    setText(
      byId(document, "devices-count"),
      devices.length ? t("devices.count", { count }) : t("devices.none"),
    );
    byId(document, "devices-scroll").hidden = devices.length === 0;
    drawRows(byId(document, "devices"), devices, {
      keyOf: ({ device, transport, connected_us }) => `${device} ${transport} ${connected_us}`,
      make: () => fromTemplate(document, "device-template"),
      draw: (row, device) => this.#drawDevice(row, device, { chosen, serverUs }),
    });
  }

  /**
   * @param {HTMLElement} row
   * @param {Device} device
   * @param {{chosen: ReadonlySet<string>, serverUs: number}} known
   */
  #drawDevice(row, device, { chosen, serverUs }) {
    const { t, language } = this.#speech;
    const name = nameOf(device, this.#speech);
    setText(part(row, "name"), name);
    setText(part(row, "transport"), t(`transport.${device.transport}`));
    setText(part(row, "path"), t(`path.${device.path}`));
    setText(part(row, "rtt"), msOrNothing(device.rtt_ms, this.#speech));
    setText(part(row, "jitter"), msOrNothing(device.jitter_ms, this.#speech));
    setText(
      part(row, "clock"),
      device.clock_bound_ms === null ? "–" : `± ${formatBoundMs(device.clock_bound_ms, language)}`,
    );
    setText(part(row, "last-seen"), agoWords(device.last_seen_us, serverUs, this.#speech));
    setText(
      part(row, "buffer"),
      device.buffered_bytes === null ? "–" : formatCount(device.buffered_bytes, language),
    );
    const box = /** @type {HTMLInputElement} */ (part(row, "chosen"));
    box.disabled = device.device === null;
    box.checked = device.device !== null && chosen.has(device.device);
    box.setAttribute("aria-label", t("devices.choose_label", { name }));
    box.onchange = () => device.device !== null && this.#onChosen(device.device, box.checked);
    const button = /** @type {HTMLButtonElement} */ (part(row, "disconnect"));
    button.hidden = device.device === null;
    setText(button, t("devices.disconnect"));
    button.setAttribute("aria-label", t("devices.disconnect_label", { name }));
    button.onclick = () => this.#onDisconnect(device);
  }
}

/**
 * "5 s ago", in whole steps so that the text does not change all the time.
 *
 * @param {number | null} thenUs
 * @param {number} nowUs
 * @param {Speech} speech
 */
function agoWords(thenUs, nowUs, { t, language }) {
  if (thenUs === null) return "–";
  const agoS = Math.max(0, (nowUs - thenUs) / 1_000_000);
  if (agoS < 5) return t("ago.now");
  if (agoS < 60) return t("ago.seconds", { count: formatCount(Math.floor(agoS / 5) * 5, language) });
  return t("ago.minutes", { count: formatCount(Math.floor(agoS / 60), language) });
}
