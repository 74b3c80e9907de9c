/**
 * A convex polygon in the plane (offset a, skew b), cut down by one half-plane at a time.
 *
 * The same steps in the same order as `app/core/clocksync/polygon.py`, which explains them: both give the same doubles.
 */

/** @typedef {readonly [number, number]} Corner (a, b): offset in microseconds, skew as a plain ratio */
/** @typedef {readonly Corner[]} Polygon corners in order around it; empty when the stamps contradict each other */

/** A corner this far outside of a half-plane still counts as on its edge. */
const ROUNDING_US = 1e-6;

/**
 * Every clock with |a| <= offsetMaxUs and |b| <= skewMax.
 *
 * @param {number} offsetMaxUs
 * @param {number} skewMax
 * @returns {Polygon}
 */
export function box(offsetMaxUs, skewMax) {
  return [
    [-offsetMaxUs, -skewMax],
    [offsetMaxUs, -skewMax],
    [offsetMaxUs, skewMax],
    [-offsetMaxUs, skewMax],
  ];
}

/**
 * The part of the polygon where a + b x <= limit.
 *
 * @param {Polygon} polygon
 * @param {number} xUs
 * @param {number} limitUs
 */
export function keepBelow(polygon, xUs, limitUs) {
  return clip(
    polygon,
    polygon.map(([a, b]) => limitUs - (a + b * xUs)),
  );
}

/**
 * The part of the polygon where a + b x >= limit.
 *
 * @param {Polygon} polygon
 * @param {number} xUs
 * @param {number} limitUs
 */
export function keepAbove(polygon, xUs, limitUs) {
  return clip(
    polygon,
    polygon.map(([a, b]) => a + b * xUs - limitUs),
  );
}

/**
 * The least and the greatest a + b x over a polygon that is not empty, microseconds.
 *
 * @param {Polygon} polygon
 * @param {number} xUs
 * @returns {[number, number]}
 */
export function extentUs(polygon, xUs) {
  const valuesUs = polygon.map(([a, b]) => a + b * xUs);
  return [Math.min(...valuesUs), Math.max(...valuesUs)];
}

/**
 * Keep the corners whose margin is not negative, and the points where an edge crosses margin 0.
 *
 * @param {Polygon} polygon
 * @param {number[]} margins one per corner
 * @returns {Polygon}
 */
function clip(polygon, margins) {
  /** @type {Corner[]} */
  const kept = [];
  polygon.forEach((corner, index) => {
    const following = (index + 1) % polygon.length;
    const margin = margins[index];
    const nextMargin = margins[following];
    if (margin >= -ROUNDING_US) kept.push(corner);
    const leaves = margin > 0 && nextMargin < -ROUNDING_US;
    const enters = margin < -ROUNDING_US && nextMargin > 0;
    if (leaves || enters) kept.push(between(corner, polygon[following], margin / (margin - nextMargin)));
  });
  return kept;
}

/**
 * @param {Corner} start
 * @param {Corner} end
 * @param {number} share
 * @returns {Corner}
 */
function between(start, end, share) {
  return [start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])];
}
