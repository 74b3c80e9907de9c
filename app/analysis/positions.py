"""Who is written to first, and what it costs to be last, from what the server recorded of its writes.

A broadcast to N clients is N writes, one after another: the k-th client waits for k of them. `measurement.md` section 2
asks for this place k to be recorded, and for an order that is drawn anew, so that no client is always last.

    server part   accepted - sent: how long a notification waited in the server before this client's write
    spread        the last client's accepted minus the first's, of one notification
    effect        least squares through each notification's own centre: us of server part for each place further
                  back. What differs between notifications cancels, since each is centred on itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

from app.analysis.metrics import is_sample
from app.analysis.split import accepted_of, places_of
from app.analysis.statistics import mean, median, quantile
from app.core.delivery import Delivery
from app.core.trial import TrialRecord

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


def position_figures(record: TrialRecord) -> PositionFigures | None:
    """The figures of a trial; `None` where nothing was recorded."""
    accepted = accepted_of(record)
    if not accepted:
        return None
    places = places_of(accepted)
    served = [
        each
        for each in record.deliveries
        if is_sample(each) and each.sent_us is not None and (each.client, each.seq) in accepted
    ]
    waits: dict[int, list[tuple[int, float, int]]] = {}
    for each in served:
        key = (each.client, each.seq)
        waits.setdefault(each.seq, []).append(
            (places[key], (accepted[key] - _sent_us(each)) / 1000, each.client)
        )
    several = [sorted(own) for own in waits.values() if len(own) > 1]
    spreads = [own[-1][1] - own[0][1] for own in several]
    return PositionFigures(
        notifications=len(several),
        spread_ms_p50=median(spreads),
        spread_ms_p95=quantile(spreads, 0.95) if len(spreads) >= 100 else None,
        effect_us_per_place=slope_us([[(float(place), ms) for place, ms, _ in own] for own in several]),
        first_share_max=_first_share_max([own[0][2] for own in several]),
        places=_rows([entry for own in waits.values() for entry in own]),
    )


def slope_us(groups: Sequence[Sequence[tuple[float, float]]]) -> float | None:
    """Common slope of y in ms over x, in us per unit of x, each group centred on its own means; `None` without any spread."""
    over, below = [], []
    for group in groups:
        x_mean, y_mean = mean([x for x, _ in group]) or 0.0, mean([y for _, y in group]) or 0.0
        over += [(x - x_mean) * (y - y_mean) for x, y in group]
        below += [(x - x_mean) ** 2 for x, _ in group]
    spread = fsum(below)
    return 1000 * fsum(over) / spread if spread else None


def _first_share_max(firsts: Sequence[int]) -> float | None:
    return max(firsts.count(client) for client in set(firsts)) / len(firsts) if firsts else None


def _rows(entries: Sequence[tuple[int, float, int]]) -> tuple[PlaceRow, ...]:
    by_place: dict[int, list[float]] = {}
    for place, server_ms, _ in entries:
        by_place.setdefault(place, []).append(server_ms)
    kept = sorted(by_place)[:PLACES_SHOWN_MAX]
    return tuple(PlaceRow(place, len(by_place[place]), median(by_place[place]) or 0.0) for place in kept)


def _sent_us(delivery: Delivery) -> int:
    assert delivery.sent_us is not None
    return delivery.sent_us
