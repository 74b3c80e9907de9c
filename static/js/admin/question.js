/** Asks before something that cannot be taken back, in a native dialog. */

import { byId, setText } from "../elements.js";

/**
 * Whether the operator said yes.
 *
 * @param {Document} document
 * @param {string} text
 * @param {string} yes what the button says that does it
 * @returns {Promise<boolean>}
 */
export function ask(document, text, yes) {
  const dialog = /** @type {HTMLDialogElement} */ (byId(document, "question"));
  setText(byId(document, "question-text"), text);
  setText(byId(document, "question-yes"), yes);
  // Escape closes without a value, and so does a question that takes another's place.
  dialog.close();
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}
