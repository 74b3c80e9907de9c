"""A trial's figures computed row by row: `app/lab/analysis` must give the same values with columns, digit for digit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from math import fsum, inf
from typing import Any

from app.core.delivery import Delivery, Outcome, SampleState
from app.core.trial import TrialRecord
from app.lab.analysis.statistics.quantile import mean, median, quantile

ARRIVED = (Outcome.ON_TIME, Outcome.LATE, Outcome.REPLAYED)

Key = tuple[int, int]


def metrics(record: TrialRecord) -> dict[str, Any]:
    """Return the figures of `TrialMetrics` that are computed from rows."""
    measured = [each for each in record.deliveries if not each.warmup]
    first = first_arrivals(measured)
    used = [each for each in first if is_sample(each)]
    stamped = [each for each in used if each.kernel_received_us is not None]
    return {
        "delivered": len(first),
        "late": sum(each.outcome is Outcome.LATE for each in first),
        "replayed": sum(each.outcome is Outcome.REPLAYED for each in first),
        "duplicates": sum(each.outcome is Outcome.DUPLICATE for each in measured),
        "out_of_order": sum(map(out_of_order, by(client, first).values())),
        "samples": len(used),
        "left_out": left_out(first),
        "delay_ms": delay_figures(used, delay_ms),
        "kernel_delay_ms": delay_figures(stamped, kernel_ms),
        "client_share_ms_p50": delay_figures(stamped, lambda each: delay_ms(each) - kernel_ms(each))["p50"],
        "jitter_ms": median(
            [value for own in by(client, used).values() if (value := jitter_ms(own)) is not None]
        ),
        "clock_bound_ms": max(
            (each.clock_bound_us / 1000 for each in used if each.clock_bound_us), default=None
        ),
    }


def arrivals(record: TrialRecord) -> dict[str, Any]:
    """Return the figures of `ArrivalFigures` that are computed from rows."""
    measured = [each for each in record.deliveries if not each.warmup]
    used = [each for each in measured if is_sample(each)]
    spikes = [each for each in used if delay_ms(each) > 500]
    intervals_s = [value for own in by(client, measured).values() for value in intervals(own)]
    return {
        "intervals": len(intervals_s),
        "interval_ms_p50": 1000 * (quantile(intervals_s, 0.5) or 0.0),
        "interval_ms_p95": 1000 * (quantile(intervals_s, 0.95) or 0.0),
        "interval_ms_max": 1000 * max(intervals_s),
        "samples": len(used),
        "spikes_over_500ms": len(spikes),
        "spike_events": len({each.seq for each in spikes}),
    }


def split(record: TrialRecord) -> dict[str, Any] | None:
    """Return the figures of `Split` that are computed from rows."""
    if record.instrument is None or record.instrument.absent is not None:
        return None
    written = writes(record)
    used = [each for each in record.deliveries if is_sample(each)]
    matched = [each for each in used if (each.client, each.seq) in written and each.sent_us is not None]
    known = [each for each in matched if each.kernel_received_us is not None]
    served = known or matched

    def at(each: Delivery) -> int:
        return written[each.client, each.seq]

    spreads = [[at(each) for each in own] for own in by(number, matched).values() if len(own) > 1]
    return {
        "deliveries": len(known),
        "unmatched": len(used) - len(matched),
        "source_ms": delay_figures(served, lambda each: (sent(each) - each.due_us) / 1000),
        "server_ms": delay_figures(served, lambda each: (at(each) - sent(each)) / 1000),
        "network_ms": delay_figures(known, lambda each: ((each.kernel_received_us or 0.0) - at(each)) / 1000),
        "client_ms": delay_figures(
            known, lambda each: ((each.received_us or 0.0) - (each.kernel_received_us or 0.0)) / 1000
        ),
        "spread_ms_p50": median([(max(own) - min(own)) / 1000 for own in spreads]),
    }


def positions(record: TrialRecord) -> dict[str, Any] | None:
    """Return the figures of `PositionFigures` that are computed from rows."""
    written = writes(record)
    if not written:
        return None
    place = places(written)
    used = [
        each
        for each in record.deliveries
        if is_sample(each) and each.sent_us is not None and (each.client, each.seq) in written
    ]
    waits = [
        sorted(
            (place[each.client, each.seq], (written[each.client, each.seq] - sent(each)) / 1000, each.client)
            for each in own
        )
        for own in by(number, used).values()
    ]
    several = [own for own in waits if len(own) > 1]
    firsts = [own[0][2] for own in several]
    return {
        "notifications": len(several),
        "spread_ms_p50": median([own[-1][1] - own[0][1] for own in several]),
        "effect_us_per_place": slope_us([[(float(x), y) for x, y, _ in own] for own in several]),
        "first_share_max": max(firsts.count(each) for each in firsts) / len(firsts),
        "places": {
            x: median([y for own in waits for k, y, _ in own if k == x]) for own in waits for x, _, _ in own
        },
    }


def client(each: Delivery) -> int:
    return each.client


def number(each: Delivery) -> int:
    return each.seq


def by(key: Callable[[Delivery], int], rows: Iterable[Delivery]) -> dict[int, list[Delivery]]:
    """Group rows by a key, keeping their order."""
    found: dict[int, list[Delivery]] = {}
    for each in rows:
        found.setdefault(key(each), []).append(each)
    return found


def is_sample(each: Delivery) -> bool:
    return (
        not each.warmup
        and each.state is SampleState.OK
        and each.outcome in (Outcome.ON_TIME, Outcome.LATE)
        and each.received_us is not None
    )


def delay_ms(each: Delivery) -> float:
    assert each.delay_ms is not None
    return each.delay_ms


def kernel_ms(each: Delivery) -> float:
    assert each.kernel_received_us is not None
    return (each.kernel_received_us - each.due_us) / 1000


def sent(each: Delivery) -> int:
    assert each.sent_us is not None
    return each.sent_us


def first_arrivals(rows: Iterable[Delivery]) -> list[Delivery]:
    """Return one row for each notification and client, in the order of arrival."""
    came: dict[Key, Delivery] = {}
    for each in rows:
        if each.outcome in ARRIVED:
            came.setdefault((each.client, each.seq), each)
    return sorted(
        came.values(), key=lambda each: inf if each.received_client_us is None else each.received_client_us
    )


def out_of_order(own: list[Delivery]) -> int:
    next_expected, count = 0, 0
    for each in own:
        count += each.seq < next_expected
        next_expected = max(next_expected, each.seq + 1)
    return count


def left_out(first: list[Delivery]) -> dict[str, int]:
    states = [
        SampleState.REPLAY
        if each.outcome is Outcome.REPLAYED
        else SampleState.NO_CLOCK
        if each.state is SampleState.OK and each.received_us is None
        else each.state
        for each in first
        if not is_sample(each)
    ]
    return {state.value: states.count(state) for state in states}


def delay_figures(rows: list[Delivery], delay: Callable[[Delivery], float]) -> dict[str, float | None]:
    own = [[delay(each) for each in rows] for rows in by(client, rows).values()]
    found: dict[str, float | None] = {
        "mean": mean([fsum(values) / len(values) for values in own]),
        "max": max((max(values) for values in own), default=None),
    }
    for name, share, least in (("p50", 0.5, 0), ("p95", 0.95, 100), ("p99", 0.99, 500)):
        quantiles = [quantile(values, share) or 0.0 for values in own if len(values) >= least]
        found[name] = median(quantiles) if len(quantiles) == len(own) else None
    return found


def jitter_ms(own: list[Delivery]) -> float | None:
    transits = [
        each.received_client_us - each.sent_us
        for each in own
        if each.sent_us is not None and each.received_client_us is not None
    ]
    jitter = 0.0
    for before, after in pairwise(transits):
        jitter += (abs(after - before) - jitter) * (1 / 16)
    return jitter / 1000 if len(transits) > 1 else None


def intervals(own: list[Delivery]) -> list[float]:
    stamps: dict[int, float] = {}
    for each in own:
        if each.outcome in ARRIVED and each.received_client_us is not None:
            stamps.setdefault(each.seq, each.received_client_us)
    return [(after - before) / 1e6 for before, after in pairwise(sorted(stamps.values()))]


def writes(record: TrialRecord) -> dict[Key, int]:
    """Return when each delivery was written; the first time, if a client had several connections."""
    found: dict[Key, int] = {}
    for connection in record.instrument.connections if record.instrument else ():
        if connection.client is not None:
            for seq, at_us in connection.accepted:
                key = (connection.client, seq)
                found[key] = min(at_us, found.get(key, at_us))
    return found


def places(written: dict[Key, int]) -> dict[Key, int]:
    count: dict[int, int] = {}
    found = {}
    for key in sorted(written, key=lambda key: written[key]):
        found[key] = count.get(key[1], 0)
        count[key[1]] = found[key] + 1
    return found


def slope_us(groups: list[list[tuple[float, float]]]) -> float | None:
    over, below = [], []
    for group in groups:
        x_mean, y_mean = mean([x for x, _ in group]) or 0.0, mean([y for _, y in group]) or 0.0
        over += [(x - x_mean) * (y - y_mean) for x, y in group]
        below += [(x - x_mean) ** 2 for x, _ in group]
    return 1000 * fsum(over) / fsum(below) if fsum(below) else None
