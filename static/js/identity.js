/** Who this device is, kept from one visit to the next. */

import { root } from "./root.js";

/** @typedef {import("./types.js").Identity} Identity */

/** One for each service of a host. */
const KEY = `siar.identity${root}`;

/**
 * @param {() => Storage} storage a function, since a browser that blocks storage throws on the first look
 * @returns {Identity | null}
 */
export function loadIdentity(storage) {
  try {
    const { device, token } = JSON.parse(storage().getItem(KEY) ?? "{}");
    return typeof device === "string" && typeof token === "string" ? { device, token } : null;
  } catch {
    // Storage is blocked or holds something else: the server gives a new identity.
    return null;
  }
}

/**
 * @param {() => Storage} storage
 * @param {Identity} identity
 */
export function saveIdentity(storage, identity) {
  try {
    storage().setItem(KEY, JSON.stringify(identity));
  } catch {
    // Storage is blocked or full: the identity lasts as long as the page.
  }
}
