/** A place in the one order of notifications: `<epoch>.<offset>`, the same on both transports. */

/** @typedef {{epoch: string, offset: number}} Position */

const FORM = /^([A-Za-z0-9_-]{1,32})\.(\d{1,16})$/;

/**
 * The position that a text writes; null when it is none.
 *
 * @param {unknown} text
 * @returns {Position | null}
 */
export function parsePosition(text) {
  const match = typeof text === "string" ? FORM.exec(text) : null;
  return match && { epoch: match[1], offset: Number(match[2]) };
}
