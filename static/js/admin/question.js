/** Asks before something that cannot be taken back, in a native dialog. */

import { byId, setText } from "../elements.js";

/** Settles the question before this one, whose own event may still be on its way. */
let settleLast = () => {};

/**
 * Whether the operator said yes. A question that another one takes the place of is a no.
 *
 * @param {Document} document
 * @param {string} text
 * @param {string} yes what the button says that does it
 * @returns {Promise<boolean>}
 */
export function ask(document, text, yes) {
  settleLast();
  const dialog = /** @type {HTMLDialogElement} */ (byId(document, "question"));
  if (!dialog.showModal) return Promise.resolve(confirm(text)); // Safari before 15.4
  setText(byId(document, "question-text"), text);
  setText(byId(document, "question-yes"), yes);
  dialog.close();
  dialog.returnValue = "no"; // Escape leaves it as it is.
  dialog.showModal();
  return new Promise((resolve) => {
    const settle = () => {
      settleLast = () => {};
      dialog.removeEventListener("close", onClose);
      resolve(!dialog.open && dialog.returnValue === "yes");
    };
    // An open dialog's event is the last question's, come late.
    const onClose = () => dialog.open || settle();
    dialog.addEventListener("close", onClose);
    settleLast = settle;
  });
}
