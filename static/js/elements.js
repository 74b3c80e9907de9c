/** Small tools over the document: text set only when it changes, copies of templates, lists that keep their rows. */

/**
 * Text that stays the same is not set again: a `role="status"` would be read out anew.
 *
 * @param {Element} element
 * @param {string} text
 */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * A copy of a page's state for the console, as `structuredClone` is missing in Safari before 15.4.
 *
 * @template State
 * @param {State} state
 * @returns {State}
 */
export function copyOf(state) {
  return JSON.parse(JSON.stringify(state));
}

/** Tell the page's first script (templates/parts/loading.js) that the page is whole. */
export function sayLoaded() {
  dispatchEvent(new Event("siar:loaded"));
}

/**
 * The element of a page that must be there.
 *
 * @param {Document} document
 * @param {string} id
 */
export function byId(document, id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/**
 * The part of a row that is named `data-part="name"`.
 *
 * @param {Element} place
 * @param {string} name
 */
export function part(place, name) {
  return /** @type {HTMLElement} */ (place.querySelector(`[data-part="${name}"]`));
}

/**
 * A fresh copy of what the template with this id holds.
 *
 * @param {Document} document
 * @param {string} id
 */
export function fromTemplate(document, id) {
  const template = /** @type {HTMLTemplateElement} */ (byId(document, id));
  const copy = /** @type {DocumentFragment} */ (template.content.cloneNode(true));
  return /** @type {HTMLElement} */ (copy.firstElementChild);
}

/**
 * One row per item, in their order. A row that is there already stays the same element, so that it keeps the
 * keyboard's focus while the page is drawn again. Items that share a key have a row each.
 *
 * @template Item
 * @param {Element} place
 * @param {readonly Item[]} items
 * @param {{keyOf: (item: Item) => string, make: (item: Item) => HTMLElement,
 *   draw: (row: HTMLElement, item: Item) => void}} how
 */
export function drawRows(place, items, { keyOf, make, draw }) {
  const old = new Map();
  const left = new Set(/** @type {Iterable<HTMLElement>} */ (place.children));
  for (const row of left) old.set(row.dataset.key, row);
  items.forEach((item, index) => {
    const key = keyOf(item);
    const row = old.get(key) ?? make(item);
    old.delete(key);
    left.delete(row);
    row.dataset.key = key;
    if (place.children[index] !== row) place.insertBefore(row, place.children[index] ?? null);
    draw(row, item);
  });
  for (const row of left) row.remove();
}
