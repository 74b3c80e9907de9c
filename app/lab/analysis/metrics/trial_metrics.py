"""Delay, jitter, loss and order of one trial, from its deliveries without warm-up.

Definitions:

    delay    from the due time of a notification to the stamp that the client took right after its read, by the
             client's clock converted to server time. A quantile of a trial is the median of the clients' quantiles (p95
             is the median of the clients' p95), and the mean is the mean of the clients' means, so that each client has
             equal weight. The maximum is the largest single delay.
    samples  first arrivals in state `ok`. Late arrivals are included, since leaving them out would flatter. Arrivals
             that were replayed after a reconnect, seen while hidden, or stamped by a clock that is not known well enough
             are left out and counted in `left_out`.
    lost     expected and not delivered, whether or not a row records it.

Records of phones and of built-in clients are treated alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from app.core.columns import STATES
from app.core.delivery import Delivery, Outcome, SampleState
from app.core.plan.scenario import Plan
from app.core.trial import TrialRecord
from app.lab.analysis.columns import SAMPLED, Columns, Floats, Integers, columns_of, first_of_each
from app.lab.analysis.groups import Groups
from app.lab.analysis.statistics.quantile import mean, median, quantile

TAIL_BROADCASTS = 5
"""A quantile q needs n >= 5 / (1 - q) broadcasts, so that five lie beyond it: 100 for p95, 500 for p99
(`measurement.md` section 4). Sixty notifications to a thousand clients are sixty broadcasts."""

JITTER_GAIN = 1 / 16
"""The gain of the jitter estimator, RFC 3550, section 6.4.1."""


@dataclass(frozen=True, slots=True)
class DelayFigures:
    """Delays in ms; `None` where nothing was received, or for a quantile with too few broadcasts."""

    mean: float | None = None
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    max: float | None = None


@dataclass(frozen=True, slots=True)
class TrialMetrics:
    """The figures of a trial's deliveries."""

    notifications: int
    """Measured notifications, as planned."""
    expected: int
    """Measured notifications times clients; 0 for a trial that never began."""
    delivered: int
    """Expected deliveries that arrived in any way: on time, late or replayed."""
    lost: int
    late: int
    replayed: int
    duplicates: int
    """Arrivals beyond the first of the same notification at the same client."""
    out_of_order: int
    """First arrivals after one with a higher sequence number (RFC 4737)."""
    samples: int
    """Arrivals whose delay is used."""
    left_out: Mapping[str, int]
    """First arrivals whose delay is not used, by state."""
    delay_ms: DelayFigures
    kernel_delay_ms: DelayFigures
    """Delays by the kernel's receive stamp, of the samples that have one; they exclude the client's event loop."""
    client_share_ms_p50: float | None
    """Client's stamp minus kernel's stamp: median of the clients' medians."""
    jitter_ms: float | None
    """Median over clients of RFC 3550's J at the end of the trial."""
    clock_bound_ms: float | None
    """The largest error bound of the clock over the samples."""
    source_lag_ms_p99: float | None
    """Lateness of the source. It checks the instrument, so it is given however few notifications there are."""
    client_means_ms: tuple[float | None, ...]
    """Mean delay of each client, by index; `None` for a phone that did not take part."""


def measure(record: TrialRecord, plan: Plan, columns: Columns | None = None) -> TrialMetrics:
    """Compute the figures of a trial. `columns`: those of its deliveries, if already computed."""
    columns = columns_of(record.deliveries) if columns is None else columns
    measured = ~columns.warmup
    first = first_of_each(columns, measured & columns.has_arrived)
    arrivals = _in_order_of_arrival(columns, first)
    samples = arrivals[columns.is_sample[arrivals]]
    with_kernel = samples[~np.isnan(columns.kernel_received_us[samples])]
    expected = expected_count(record, plan)
    kernel_delay_ms = (columns.kernel_received_us - columns.due_us) / 1000
    return TrialMetrics(
        notifications=plan.notifications,
        expected=expected,
        delivered=len(first),
        lost=expected - len(first),
        late=int(columns.has_outcome(Outcome.LATE)[first].sum()),
        replayed=int(columns.has_outcome(Outcome.REPLAYED)[first].sum()),
        duplicates=int((columns.has_outcome(Outcome.DUPLICATE) & measured).sum()),
        out_of_order=_out_of_order(columns, arrivals),
        samples=len(samples),
        left_out=_count_states(columns, first[~columns.is_sample[first]]),
        delay_ms=delay_figures(columns, samples, columns.delay_ms),
        kernel_delay_ms=delay_figures(columns, with_kernel, kernel_delay_ms),
        client_share_ms_p50=middle_client_ms(columns, with_kernel, columns.delay_ms - kernel_delay_ms),
        jitter_ms=_jitter_ms(columns, samples),
        clock_bound_ms=_largest_ms(columns.clock_bound_us[samples]),
        source_lag_ms_p99=quantile([lag_us / 1000 for lag_us in record.source_lag_us], 0.99),
        client_means_ms=_client_means(
            columns, samples, max(record.spec.clients, *(n + 1 for n in record.participants), 0)
        ),
    )


def expected_count(record: TrialRecord, plan: Plan) -> int:
    """Return the measured notifications times clients; 0 for a trial that never began."""
    has_begun = record.completed or record.published > 0
    return plan.notifications * record.spec.clients if has_begun else 0


def is_sample(delivery: Delivery) -> bool:
    """Return True if the delay of an arrival may be used: `Columns.is_sample` for a single row."""
    return (
        not delivery.warmup
        and delivery.state is SampleState.OK
        and delivery.outcome in SAMPLED
        and delivery.received_us is not None
    )


def delay_figures(columns: Columns, samples: Integers, delay_ms: Floats) -> DelayFigures:
    """Summarise a trial's delays: per client first, then over clients, so that each client has equal weight.

    `samples`: the places to use. `delay_ms`: the delay of every row of the trial.
    """
    groups = Groups.by(columns.client[samples])
    ascending = groups.sorted(delay_ms[samples])
    return DelayFigures(
        mean=mean(groups.means(delay_ms[samples])),
        p50=_middle_client(groups, ascending, 0.50),
        p95=_middle_client(groups, ascending, 0.95),
        p99=_middle_client(groups, ascending, 0.99),
        max=float(np.max(ascending)) if len(ascending) else None,
    )


def middle_client_ms(columns: Columns, samples: Integers, values_ms: Floats) -> float | None:
    """Return the median of the clients' medians; `None` without samples. `values_ms`: one for every row of the trial."""
    groups = Groups.by(columns.client[samples])
    return _middle_client(groups, groups.sorted(values_ms[samples]), 0.5)


def supported_quantile(values: Sequence[float], share: float, *, broadcasts: int) -> float | None:
    """Return the quantile; `None` when the values come from fewer broadcasts than it needs."""
    return quantile(values, share) if is_supported(share, broadcasts=broadcasts) else None


def is_supported(share: float, *, broadcasts: int) -> bool:
    """Return True if this number of independent broadcasts is enough for a quantile."""
    return share <= 0.5 or broadcasts >= broadcasts_min(share)


def broadcasts_min(share: float) -> int:
    """Return the number of independent broadcasts that a quantile above the median needs."""
    return round(TAIL_BROADCASTS / (1 - share))


def by_client(deliveries: Iterable[Delivery]) -> dict[int, list[Delivery]]:
    """Group deliveries by client in their order, for code that handles a few of them one by one."""
    clients: dict[int, list[Delivery]] = {}
    for each in deliveries:
        clients.setdefault(each.client, []).append(each)
    return clients


def _in_order_of_arrival(columns: Columns, places: Integers) -> Integers:
    """Sort places by client, then by the client's own clock; equal stamps keep the order of the rows."""
    stamps_us = columns.received_client_us[places]
    stamps_us = np.where(np.isnan(stamps_us), np.inf, stamps_us)
    ordered: Integers = places[np.lexsort((stamps_us, columns.client[places]))]
    return ordered


def _out_of_order(columns: Columns, arrivals: Integers) -> int:
    """Count reordered arrivals by RFC 4737, section 3.3: those with a number below NextExp, which only ever rises."""
    count = 0
    for own in Groups.by(columns.client[arrivals]).parts(columns.seq[arrivals]):
        highest_before = np.maximum.accumulate(own)[:-1]
        count += int((own[1:] <= highest_before).sum())
    return count


def _middle_client(groups: Groups, ascending: Floats, share: float) -> float | None:
    """Return the median of the clients' quantiles; `None` when a client has too few samples for its own."""
    if not all(is_supported(share, broadcasts=count) for count in set(groups.counts.tolist())):
        return None
    return median(groups.quantiles(ascending, share))


def _jitter_ms(columns: Columns, samples: Integers) -> float | None:
    """Return the median over clients of the final J; `None` when no client has two samples.

    `samples`: places in order of arrival.
    """
    samples = samples[columns.has_sent[samples]]
    transits_us = columns.received_client_us[samples] - columns.sent_us[samples]
    clients = Groups.by(columns.client[samples]).parts(transits_us)
    return median([_final_jitter_ms(own.tolist()) for own in clients if len(own) >= 2])


def _final_jitter_ms(transits_us: Sequence[float]) -> float:
    """Return J after the last arrival by RFC 3550, section 6.4.1.

    D = (R_j - R_i) - (S_j - S_i); J += (|D| - J) / 16, in order of arrival, from J = 0. S is `sent_us`, so that a late
    source does not count as jitter. R is the client's own clock, whose offset cancels. Starting at 0, J covers two
    thirds of its way in some 16 arrivals: short trials give too small a J, in all arms alike.
    """
    jitter_us = 0.0
    for before, after in pairwise(transits_us):
        jitter_us += (abs(after - before) - jitter_us) * JITTER_GAIN
    return jitter_us / 1000


def _largest_ms(values_us: Floats) -> float | None:
    known = values_us[~np.isnan(values_us)]
    return float(np.max(known)) / 1000 if len(known) else None


def _client_means(columns: Columns, samples: Integers, clients: int) -> tuple[float | None, ...]:
    groups = Groups.by(columns.client[samples])
    means = dict(zip(groups.keys.tolist(), groups.means(columns.delay_ms[samples]), strict=True))
    return tuple(means.get(client) for client in range(clients))


def _count_states(columns: Columns, places: Integers) -> dict[str, int]:
    """Count the rows in each state; a row in state `ok` without a clock counts as `no_clock`, a replayed one as `replay`."""
    has_no_clock = columns.has_state(SampleState.OK) & np.isnan(columns.received_us)
    states = np.where(has_no_clock, STATES.index(SampleState.NO_CLOCK), columns.state)
    states = np.where(columns.has_outcome(Outcome.REPLAYED), STATES.index(SampleState.REPLAY), states)
    codes, counts = np.unique(states[places], return_counts=True)
    return dict(sorted((STATES[code].value, int(count)) for code, count in zip(codes, counts, strict=True)))
