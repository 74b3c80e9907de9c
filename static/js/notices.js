/** Received notifications as the system shows them, while the page is open and where it is allowed. */

/** @typedef {import("./types.js").Notification} Notification */

/** One place on the screen: a newer one takes the place of the one before. */
const TAG = "siar";

/** Where the browser has none of it: on plain http, and on iOS outside the home screen. */
export function canNotify() {
  return isSecureContext && "Notification" in globalThis;
}

/** @returns {Promise<boolean>} whether the person allows it */
export async function askToNotify() {
  return canNotify() && (await globalThis.Notification.requestPermission()) === "granted";
}

/** @param {Notification} notification */
export function notify({ title, body }) {
  if (!canNotify() || globalThis.Notification.permission !== "granted") return;
  try {
    new globalThis.Notification(title, { body, tag: TAG });
  } catch {
    // Chrome on Android shows them through a service worker only; the page's list has it.
  }
}
