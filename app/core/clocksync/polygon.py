"""A convex polygon in the plane (offset a, skew b), cut down by one half-plane at a time.

Every stamp of a clock probe says of the line `a + b x` that it passes below or above a point. What all stamps
together leave is a convex polygon, and a linear function is least and greatest at its corners, so the corners are
all that need be kept (`measurement.md` section 1; Sutherland and Hodgman 1974 for the clipping).

The order of the arithmetic is part of the contract: `static/js/polygon.js` does the same steps in the same order,
so that a phone and the analysis get the same doubles to the last bit.
"""

from __future__ import annotations

Corner = tuple[float, float]
"""(a, b): offset in microseconds, skew as a plain ratio."""

Polygon = tuple[Corner, ...]
"""Corners in order around the polygon; empty when the stamps contradict each other."""

ROUNDING_US = 1e-6
"""A corner this far outside of a half-plane still counts as on its edge.

Corners carry rounding errors of about 1e-9 us; without the allowance, stamps with no slack between them (a zero
round trip) could empty a polygon that holds the truth.
"""


def box(offset_max_us: float, skew_max: float) -> Polygon:
    """Every clock with |a| <= offset_max_us and |b| <= skew_max."""
    return (
        (-offset_max_us, -skew_max),
        (offset_max_us, -skew_max),
        (offset_max_us, skew_max),
        (-offset_max_us, skew_max),
    )


def keep_below(polygon: Polygon, x_us: float, limit_us: float) -> Polygon:
    """The part of the polygon where a + b x <= limit."""
    return _clip(polygon, [limit_us - (a + b * x_us) for a, b in polygon])


def keep_above(polygon: Polygon, x_us: float, limit_us: float) -> Polygon:
    """The part of the polygon where a + b x >= limit."""
    return _clip(polygon, [(a + b * x_us) - limit_us for a, b in polygon])


def extent_us(polygon: Polygon, x_us: float) -> tuple[float, float]:
    """The least and the greatest a + b x over a polygon that is not empty, microseconds."""
    values_us = [a + b * x_us for a, b in polygon]
    return min(values_us), max(values_us)


def _clip(polygon: Polygon, margins: list[float]) -> Polygon:
    """Keep the corners whose margin is not negative, and the points where an edge crosses margin 0."""
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
