/**
 * Where the lines of a chart lie: a value per count of phones as a line, its quartiles as a band around it. Pure.
 *
 *     y ^      ___---      one series per arm; counts of phones are categories, side by side,
 *       |  .-''   _.-      and arms stand a little beside each other, so that none hides another
 *       |   _.--''
 *       +---|----|----|->
 *           1    3    6
 */

import { armsOf, countsOf } from "./arms.js";

/** @typedef {import("./types.js").Results} Results */
/** @typedef {import("./types.js").Cell} Cell */

/** @typedef {{x: number, y: number, low_y: number, high_y: number, clients: number}} Point */
/** @typedef {{arm: string, series: number, points: Point[]}} Line */
/** @typedef {{at: number, value: number}} Tick */
/** @typedef {{lines: Line[], x_ticks: Tick[], y_ticks: Tick[]}} Chart */

/** In units of the drawing; text is 15 of them high. */
export const BOX = { width: 400, height: 260, left: 52, right: 14, top: 14, bottom: 40 };

/** More arms begin again with the first colour; the table names them all. */
const SERIES_MAX = 4;

const TICKS_MAX = 5;

/**
 * @param {Results} results
 * @param {(cell: Cell) => {value: number | null, low?: number | null, high?: number | null}} read
 * @returns {Chart}
 */
export function layOut(results, read) {
  const arms = armsOf(results);
  const counts = countsOf(results);
  const values = arms.flatMap((arm) =>
    counts.map((count) => results[arm][count] && read(results[arm][count])),
  );
  const yStep = roundStep(Math.max(0, ...values.flatMap((v) => [v?.value ?? 0, v?.high ?? 0])));
  const yMax =
    yStep * Math.max(1, Math.ceil(Math.max(0, ...values.map((v) => v?.high ?? v?.value ?? 0)) / yStep));
  const plot = { width: BOX.width - BOX.left - BOX.right, height: BOX.height - BOX.top - BOX.bottom };
  /** @param {number} value */
  const y = (value) => BOX.top + plot.height * (1 - value / yMax);
  /** @param {number} place */
  const x = (place) => BOX.left + (plot.width * (place + 0.5)) / Math.max(counts.length, 1);
  const lines = arms.map((arm, series) => {
    const points = counts.flatMap((clients, place) => {
      const found = results[arm][clients] && read(results[arm][clients]);
      if (!found || found.value === null) return [];
      const [low, high] = [found.low ?? found.value, found.high ?? found.value];
      return [
        {
          clients,
          x: x(place) + aside(series, arms.length),
          y: y(found.value),
          low_y: y(low),
          high_y: y(high),
        },
      ];
    });
    return { arm, series: series % SERIES_MAX, points };
  });
  const tickCount = Math.round(yMax / yStep);
  return {
    lines,
    x_ticks: counts.map((value, place) => ({ at: x(place), value })),
    y_ticks: Array.from({ length: tickCount + 1 }, (_, n) => ({ at: y(n * yStep), value: n * yStep })),
  };
}

/**
 * A step of 1, 2 or 5 times a power of ten that needs at most `TICKS_MAX` steps up to `highest`.
 *
 * @param {number} highest
 */
export function roundStep(highest) {
  if (highest <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(highest / TICKS_MAX));
  const step = [1, 2, 5, 10].find((n) => highest <= n * power * TICKS_MAX) ?? 10;
  return step * power;
}

/**
 * @param {number} place
 * @param {number} count
 */
function aside(place, count) {
  return 10 * (place - (count - 1) / 2);
}
