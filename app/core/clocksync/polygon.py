"""Convex polygon in the plane (offset a, skew b), clipped by one half-plane at a time.

Every stamp of a clock probe demands that the line `a + b x` passes below or above a point. The lines that meet all
demands form a convex polygon. A linear function takes its extremes at the corners, so only the corners are kept
(`measurement.md` section 1; Sutherland and Hodgman 1974 for the clipping).

The order of the arithmetic is part of the contract: `static/js/polygon.js` does the same steps in the same order,
so that a phone and the analysis get the same doubles to the last bit.
"""

from __future__ import annotations

Corner = tuple[float, float]
"""A point (a, b): offset in microseconds, skew as a plain ratio."""

Polygon = tuple[Corner, ...]
"""Corners in order around the polygon; empty if the stamps contradict each other."""

ROUNDING_US = 1e-6
"""Distance up to which a corner outside of a half-plane still counts as on its edge.

Corners have rounding errors of about 1e-9 us. Without this tolerance, stamps with no slack between them (a zero round
trip) could empty a polygon that contains the true clock.
"""


def box(offset_max_us: float, skew_max: float) -> Polygon:
    """Return the polygon of all clocks with |a| <= offset_max_us and |b| <= skew_max."""
    return (
        (-offset_max_us, -skew_max),
        (offset_max_us, -skew_max),
        (offset_max_us, skew_max),
        (-offset_max_us, skew_max),
    )


def keep_below(polygon: Polygon, x_us: float, limit_us: float) -> Polygon:
    """Return the part of the polygon where a + b x <= limit."""
    return _clip(polygon, [limit_us - (a + b * x_us) for a, b in polygon])


def keep_above(polygon: Polygon, x_us: float, limit_us: float) -> Polygon:
    """Return the part of the polygon where a + b x >= limit."""
    return _clip(polygon, [(a + b * x_us) - limit_us for a, b in polygon])


def extent_us(polygon: Polygon, x_us: float) -> tuple[float, float]:
    """Return the least and the greatest a + b x over a non-empty polygon, microseconds."""
    values_us = [a + b * x_us for a, b in polygon]
    return min(values_us), max(values_us)


def _clip(polygon: Polygon, margins: list[float]) -> Polygon:
    """Keep the corners whose margin is not negative, and add the points where an edge crosses margin 0."""
    kept: list[Corner] = []
    for index, corner in enumerate(polygon):
        following = (index + 1) % len(polygon)
        margin, next_margin = margins[index], margins[following]
        if margin >= -ROUNDING_US:
            kept.append(corner)
        leaves = margin > 0.0 and next_margin < -ROUNDING_US
        enters = margin < -ROUNDING_US and next_margin > 0.0
        if leaves or enters:
            kept.append(_between(corner, polygon[following], margin / (margin - next_margin)))
    return tuple(kept)


def _between(start: Corner, end: Corner, share: float) -> Corner:
    return (start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1]))
