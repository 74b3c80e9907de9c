/** Arms of an experiment as people name and tell them apart: words, a place in the colours, rows of a table. Pure. */

/** @typedef {import("./types.js").Cell} Cell */
/** @typedef {import("./types.js").Results} Results */
/** @typedef {import("./types.js").Speech} Speech */

/** @typedef {{arm: string, clients: number, cell: Cell}} Row */

/**
 * "sse.2" is "SSE 2", "socketio, radio warm" is "Socket.IO radio warm"; any other name stands as it is.
 *
 * @param {string} name
 * @param {Speech} speech
 */
export function armTitle(name, { t }) {
  const [transport, ...rest] = name.split(/[.,\s]+/);
  const title = transport === "sse" || transport === "socketio" ? t(`transport.${transport}`) : transport;
  return [title, ...rest].filter(Boolean).join(" ");
}

/**
 * The arms in an order that stays as results come in: by name, SSE's first as everywhere.
 *
 * @param {Results} results
 */
export function armsOf(results) {
  /** @param {string} name */
  const rank = (name) => (name.startsWith("sse") ? 0 : 1);
  return Object.keys(results).sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

/** @param {Results} results */
export function rowsOf(results) {
  /** @type {Row[]} */
  const rows = [];
  for (const arm of armsOf(results))
    for (const clients of countsOf({ [arm]: results[arm] }))
      rows.push({ arm, clients, cell: results[arm][String(clients)] });
  return rows;
}

/**
 * Every count of phones that has results, smallest first.
 *
 * @param {Results} results
 */
export function countsOf(results) {
  const counts = new Set(Object.values(results).flatMap((byCount) => Object.keys(byCount).map(Number)));
  return [...counts].sort((a, b) => a - b);
}

/**
 * What became of everything that was sent so far.
 *
 * @param {Results} results
 */
export function totals(results) {
  const total = { delivered: 0, late: 0, lost: 0, asleep: 0 };
  for (const { cell } of rowsOf(results)) {
    total.delivered += cell.delivered;
    total.late += cell.late;
    total.lost += cell.lost;
    total.asleep += cell.asleep;
  }
  return total;
}
