/** What a device is called. Pure. */

/**
 * The name that it has in the room, else the end of its id, which is all that is known.
 *
 * @param {{device: string | null, name: string | null}} device
 * @param {import("./types.js").Speech} speech
 */
export function nameOf({ device, name }, { t }) {
  if (name) return name;
  return device === null ? t("devices.unknown") : `…${device.slice(-6)}`;
}

/**
 * The same for the middle of a sentence: a name written from right to left must not turn the sentence around.
 *
 * @param {{device: string | null, name: string | null}} device
 * @param {import("./types.js").Speech} speech
 */
export function isolatedName(device, speech) {
  return `\u2068${nameOf(device, speech)}\u2069`;
}
