/** Draws a chart as SVG. Looks come from CSS: classes `s0` to `s3` per arm, each with a colour, a dash and a mark. */

import { BOX } from "./bands.js";

/** @typedef {import("./bands.js").Chart} Chart */
/** @typedef {import("./bands.js").Point} Point */

const SVG = "http://www.w3.org/2000/svg";

const MARK_SIZE = 5;

/**
 * @param {Element} place an `svg` element; what it held goes
 * @param {Chart} chart
 * @param {{number: (value: number) => string, x_label: string}} words
 */
export function drawChart(place, chart, { number, x_label }) {
  place.setAttribute("viewBox", `0 0 ${BOX.width} ${BOX.height}`);
  const bottom = BOX.height - BOX.bottom;
  place.replaceChildren(
    ...chart.y_ticks.flatMap(({ at, value }) => [
      make("line", { class: "grid", x1: BOX.left, x2: BOX.width - BOX.right, y1: at, y2: at }),
      make("text", { class: "tick", x: BOX.left - 6, y: at + 5, "text-anchor": "end" }, number(value)),
    ]),
    ...chart.x_ticks.map(({ at, value }) =>
      make("text", { class: "tick", x: at, y: bottom + 18, "text-anchor": "middle" }, number(value)),
    ),
    make(
      "text",
      { class: "tick", x: (BOX.left + BOX.width - BOX.right) / 2, y: bottom + 36, "text-anchor": "middle" },
      x_label,
    ),
    ...chart.lines.map(({ series, points }) => lineGroup(series, points)),
  );
}

/**
 * The mark of an arm, for a legend.
 *
 * @param {number} series
 */
export function legendMark(series) {
  const svg = make("svg", { class: `legend-mark s${series}`, viewBox: "0 0 28 14", "aria-hidden": "true" });
  svg.append(make("line", { class: "line", x1: 0, x2: 28, y1: 7, y2: 7 }), mark(series, 14, 7));
  return svg;
}

/**
 * @param {number} series
 * @param {Point[]} points
 */
function lineGroup(series, points) {
  const group = make("g", { class: `s${series}` });
  if (points.length > 1) group.append(make("path", { class: "band", d: bandPath(points) }));
  for (const { x, low_y, high_y } of points)
    group.append(make("line", { class: "quartiles", x1: x, x2: x, y1: low_y, y2: high_y }));
  group.append(make("path", { class: "line", d: path(points.map(({ x, y }) => [x, y])) }));
  for (const { x, y } of points) group.append(mark(series, x, y));
  return group;
}

/** @param {Point[]} points */
function bandPath(points) {
  const above = points.map(({ x, high_y }) => [x, high_y]);
  const below = points.map(({ x, low_y }) => [x, low_y]).reverse();
  return `${path([...above, ...below])}Z`;
}

/** @param {number[][]} corners */
function path(corners) {
  return corners.map(([x, y], index) => `${index ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
}

/**
 * A circle, a square, a triangle or a diamond: told apart without colour.
 *
 * @param {number} series
 * @param {number} x
 * @param {number} y
 */
function mark(series, x, y) {
  const r = MARK_SIZE;
  if (series === 0) return make("circle", { class: "mark", cx: x, cy: y, r });
  const corners = [
    [
      [-r, -r],
      [r, -r],
      [r, r],
      [-r, r],
    ],
    [
      [0, -r],
      [r, r],
      [-r, r],
    ],
    [
      [0, -r * 1.3],
      [r * 1.3, 0],
      [0, r * 1.3],
      [-r * 1.3, 0],
    ],
  ][series - 1];
  return make("path", { class: "mark", d: `${path(corners.map(([dx, dy]) => [x + dx, y + dy]))}Z` });
}

/**
 * @param {string} name
 * @param {Record<string, string | number>} attributes
 * @param {string} [text]
 */
function make(name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  if (text !== undefined) element.textContent = text;
  return element;
}
