"""Order of writing in a fan-out, and the delay that each later place adds, from the server's record of its writes.

A broadcast to N clients is N writes, one after another: the k-th client waits for k of them. `measurement.md` section 2
requires that this place k is recorded, and that the order is shuffled, so that no client is always last.

    server part   accepted - sent: the time that a notification waited in the server before this client's write
    spread        the last client's accepted minus the first's, of one notification
    effect        slope of the server part over the place, in us per place, by least squares. Each notification is
                  centred on its own means, so that differences between notifications cancel.
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
"""Most places with a row; a figure shows no more, and for more clients there is the slope."""


@dataclass(frozen=True, slots=True)
class PlaceRow:
    """All deliveries at one place in the order of writing."""

    place: int
    """The place, from 0 for the client that is written to first."""
    deliveries: int
    server_ms_p50: float


@dataclass(frozen=True, slots=True)
class PositionFigures:
    """The order of writing of one trial."""

    notifications: int
    """The number of notifications that the server recorded and at least two clients received."""
    spread_ms_p50: float | None
    spread_ms_p95: float | None
    effect_us_per_place: float | None
    """The delay that each later place adds; `None` for one client."""
    first_share_max: float | None
    """Largest share of notifications in which one client was first: 1 / N if the order is fair, 1 if it is fixed."""
    places: tuple[PlaceRow, ...]


@dataclass(frozen=True, slots=True)
class _Notification:
    """The writes of one notification, in the order of writing."""

    place: Integers
    server_ms: Floats
    client: Integers


def position_figures(record: TrialRecord) -> PositionFigures | None:
    """Compute the figures of a trial; `None` where the server recorded nothing."""
    if not has_writes(record):
        return None
    columns = columns_of(record.deliveries)
    writes = server_writes(record, columns)
    served = columns.samples()
    served = served[(writes.is_known & columns.has_sent)[served]]
    place, client = writes.place[served], columns.client[served]
    server_ms = (writes.accepted_us[served] - columns.sent_us[served]) / 1000
    # Sort by notification, and each notification's rows by the order of writing.
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
    """Return the common slope of y in ms over x, in us per unit of x; `None` where x does not vary.

    `groups`: x and y of each group, which are centred on the group's own means.
    """
    products, squares = list[float](), list[float]()
    for x, y in groups:
        x_centred, y_centred = x - (mean(x.tolist()) or 0.0), y - (mean(y.tolist()) or 0.0)
        products += (x_centred * y_centred).tolist()
        squares += [value**2 for value in x_centred.tolist()]
    spread = fsum(squares)
    return 1000 * fsum(products) / spread if spread else None


def _first_share_max(firsts: Sequence[int]) -> float | None:
    return max(Counter(firsts).values()) / len(firsts) if firsts else None


def _rows(place: Integers, server_ms: Floats) -> tuple[PlaceRow, ...]:
    groups = Groups.by(place)
    medians = groups.quantiles(groups.sorted(server_ms), 0.5)
    found = zip(groups.keys.tolist(), groups.counts.tolist(), medians, strict=True)
    return tuple(PlaceRow(*each) for each in islice(found, PLACES_SHOWN_MAX))
