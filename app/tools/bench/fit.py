"""Growth of the cost of a delivery with the number of subscribers: log(cost) = a + b log(N), by least squares."""

from __future__ import annotations

import math
from collections.abc import Sequence


def exponent(points: Sequence[tuple[float, float]]) -> float | None:
    """Return b of the line through (log N, log cost); 0 means constant cost. `None` for fewer than two different N."""
    logs = [(math.log(count), math.log(cost)) for count, cost in points if count > 0 and cost > 0]
    if len({x for x, _ in logs}) < 2:
        return None
    mean_x = math.fsum(x for x, _ in logs) / len(logs)
    mean_y = math.fsum(y for _, y in logs) / len(logs)
    along = math.fsum((x - mean_x) * (y - mean_y) for x, y in logs)
    return along / math.fsum((x - mean_x) ** 2 for x, _ in logs)
