/** Random names. `crypto.randomUUID` is missing on plain http, `crypto.getRandomValues` is not. */

const ID_BYTES = 16;

/**
 * 128 random bits as 32 hexadecimal digits.
 *
 * @param {{getRandomValues: (bytes: Uint8Array<ArrayBuffer>) => unknown}} crypto
 */
export function randomId(crypto) {
  const bytes = new Uint8Array(ID_BYTES);
  crypto.getRandomValues(bytes);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
