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
  // Escape leaves the value as it is, and so does a question that takes another's place.
  dialog.close();
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    const onClose = () => {
      // The last question's event comes late, when this one is on the screen already.
      if (dialog.open) return;
      dialog.removeEventListener("close", onClose);
      resolve(dialog.returnValue === "yes");
    };
    dialog.addEventListener("close", onClose);
  });
}
