/** The catalogue of texts in the page's language. */

/** @typedef {(key: string, values?: Record<string, string | number>) => string} Translate */

/**
 * Looks texts up and fills their `{places}`. A key without a text is shown as it is: ugly, and found by the tests.
 *
 * @param {Record<string, string>} catalogue
 * @returns {Translate}
 */
export function makeTranslate(catalogue) {
  return (key, values = {}) =>
    (catalogue[key] ?? key).replace(/\{(\w+)\}/g, (place, name) => String(values[name] ?? place));
}
