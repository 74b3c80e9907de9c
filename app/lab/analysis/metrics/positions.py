"""Who is written to first, and what it costs to be last, from what the server recorded of its writes.

A broadcast to N clients is N writes, one after another: the k-th client waits for k of them. `measurement.md` section 2
asks for this place k to be recorded, and for an order that is drawn anew, so that no client is always last.

    server part   accepted - sent: how long a notification waited in the server before this client's write
    spread        the last client's accepted minus the first's, of one notification
    effect        least squares through each notification's own centre: us of server part for each place further
                  back. What differs between notifications cancels, since each is centred on itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from math import fsum

import numpy as np

from app.core.trial import TrialRecord
from app.lab.analysis.columns import Floats, Integers, columns_of
from app.lab.analysis.groups import Groups
from app.lab.analysis.metrics.trial_metrics import supported_quantile
from app.lab.analysis.metrics.writes import has_writes, server_writes
from app.lab.analysis.statistics.quantile import mean, median

PLACES_SHOWN_MAX = 200
"""A figure shows no more, and a server with more clients has the slope."""


@dataclass(frozen=True, slots=True)
class PlaceRow:
    """All deliveries of one place."""

    place: int
    """From 0: written to first."""
    deliveries: int
    server_ms_p50: float


@dataclass(frozen=True, slots=True)
class PositionFigures:
    """The order of writing of one trial."""

    notifications: int
    """Those that at least two clients got and the server recorded."""
    spread_ms_p50: float | None
    spread_ms_p95: float | None
    effect_us_per_place: float | None
    """What each place further back adds; `None` for one client."""
    first_share_max: float | None
    """The share of notifications in which the same client was first: 1 / N where the order is fair, 1 where it is fixed."""
    places: tuple[PlaceRow, ...]


@dataclass(frozen=True, slots=True)
class _Notification:
    """The writes of one notification, in the order of writing."""

    place: Integers
    server_ms: Floats
    client: Integers


def position_figures(record: TrialRecord) -> PositionFigures | None:
    """The figures of a trial; `None` where nothing was recorded."""
    if not has_writes(record):
        return None
    columns = columns_of(record.deliveries)
    writes = server_writes(record, columns)
    served = columns.samples()
    served = served[(writes.is_known & columns.has_sent)[served]]
    place, client = writes.place[served], columns.client[served]
    server_ms = (writes.accepted_us[served] - columns.sent_us[served]) / 1000
    # Of each notification, in the order of writing.
    order = np.lexsort((client, server_ms, place, columns.seq[served]))
    place, client, server_ms = place[order], client[order], server_ms[order]
    groups = Groups.by(columns.seq[served][order])
    several = [
        _Notification(*found)
        for found in zip(groups.parts(place), groups.parts(server_ms), groups.parts(client), strict=True)
        if len(found[0]) > 1
    ]
    spreads_ms = [float(each.server_ms[-1]) - float(each.server_ms[0]) for each in several]
    return PositionFigures(
        notifications=len(several),
        spread_ms_p50=median(spreads_ms),
        spread_ms_p95=supported_quantile(spreads_ms, 0.95, broadcasts=len(spreads_ms)),
        effect_us_per_place=slope_us([(each.place.astype(np.float64), each.server_ms) for each in several]),
        first_share_max=_first_share_max([int(each.client[0]) for each in several]),
        places=_rows(place, server_ms),
    )


def slope_us(groups: Sequence[tuple[Floats, Floats]]) -> float | None:
    """Common slope of y in ms over x, in us per unit of x, each group centred on its own means; `None` without any spread.

    `groups`: x and y of each.
    """
    over, below = list[float](), list[float]()
    for x, y in groups:
        x_centred, y_centred = x - (mean(x.tolist()) or 0.0), y - (mean(y.tolist()) or 0.0)
        over += (x_centred * y_centred).tolist()
        below += [value**2 for value in x_centred.tolist()]
    spread = fsum(below)
    return 1000 * fsum(over) / spread if spread else None


def _first_share_max(firsts: Sequence[int]) -> float | None:
    return max(Counter(firsts).values()) / len(firsts) if firsts else None


def _rows(place: Integers, server_ms: Floats) -> tuple[PlaceRow, ...]:
    groups = Groups.by(place)
    medians = groups.quantiles(groups.sorted(server_ms), 0.5)
    found = zip(groups.keys.tolist(), groups.counts.tolist(), medians, strict=True)
    return tuple(PlaceRow(*each) for each in islice(found, PLACES_SHOWN_MAX))
