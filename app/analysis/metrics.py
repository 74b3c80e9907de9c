"""The figures of one trial, from its deliveries. Warm-up notifications are left out of every one of them.

What a figure includes:

    delay    from when a notification was due to the stamp that the client took right after its read, by the
             client's clock put into server time. Of a trial: a quantile is the median of the clients' quantiles
             (so p95 is the median of the clients' p95), the mean is the mean of the clients' means; each client
             counts alike. The maximum is the largest single delay.
    samples  first arrivals in state `ok`: a late one too, since leaving it out would flatter. What was replayed
             after a reconnect, seen while hidden, or stamped by a clock that is not known well enough is left out, and
             counted in `left_out`.
    lost     expected and not delivered, also when no row says so.

The record of a phone and that of a built-in client are treated alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from app.analysis.statistics import mean, median, quantile
from app.core.delivery import Delivery, Outcome, SampleState
from app.core.scenario import Plan
from app.core.trial import TrialRecord

ARRIVED = (Outcome.ON_TIME, Outcome.LATE, Outcome.REPLAYED)
"""Outcomes of which each expected delivery has at most one."""

TAIL_BROADCASTS = 5
"""A quantile q is given from n >= 5 / (1 - q) broadcasts on, so that five lie beyond it: p95 from 100, p99 from
500 (`measurement.md` section 4). Sixty notifications to a thousand clients are sixty broadcasts."""

JITTER_GAIN = 1 / 16
"""RFC 3550, section 6.4.1."""


@dataclass(frozen=True, slots=True)
class DelayFigures:
    """Delays in ms; `None` where nothing was received or too few broadcasts."""

    mean: float | None = None
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    max: float | None = None


@dataclass(frozen=True, slots=True)
class TrialMetrics:
    """What a trial's deliveries amount to."""

    notifications: int
    """Measured ones, as planned."""
    expected: int
    """Measured notifications times clients; 0 for a trial that never began."""
    delivered: int
    """Of those, how many arrived in any way: on time, late or replayed."""
    lost: int
    late: int
    replayed: int
    duplicates: int
    """Arrivals beyond the first of the same notification at the same client."""
    out_of_order: int
    """First arrivals behind one with a higher number (RFC 4737)."""
    samples: int
    """Arrivals whose delay is used."""
    left_out: Mapping[str, int]
    """First arrivals whose delay is not used, by state."""
    delay_ms: DelayFigures
    kernel_delay_ms: DelayFigures
    """The same by the kernel's receive stamp, of the samples that have one: what the client's own loop adds is
    not in it."""
    client_share_ms_p50: float | None
    """Client's stamp minus kernel's stamp, median of the clients' medians."""
    jitter_ms: float | None
    """Median over clients of RFC 3550's J at the end of the trial."""
    clock_bound_ms: float | None
    """The largest error bound of the clock over the samples."""
    source_lag_ms_p99: float | None
    """How late the source was. A check of the instrument and no result: given however few notifications."""
    client_means_ms: tuple[float | None, ...]
    """Mean delay of each client, by index; `None` for a phone that did not take part."""


def measure(record: TrialRecord, plan: Plan) -> TrialMetrics:
    """The figures of a trial's deliveries."""
    measured = [each for each in record.deliveries if not each.warmup]
    first = _first_arrivals(measured)
    samples = [each for each in first if is_sample(each)]
    with_kernel = [each for each in samples if each.kernel_received_us is not None]
    has_begun = record.completed or record.published > 0
    expected = plan.notifications * record.spec.clients if has_begun else 0
    return TrialMetrics(
        notifications=plan.notifications,
        expected=expected,
        delivered=len(first),
        lost=expected - len(first),
        late=sum(each.outcome is Outcome.LATE for each in first),
        replayed=sum(each.outcome is Outcome.REPLAYED for each in first),
        duplicates=sum(each.outcome is Outcome.DUPLICATE for each in measured),
        out_of_order=sum(map(_out_of_order, by_client(first).values())),
        samples=len(samples),
        left_out=_count_states(each for each in first if not is_sample(each)),
        delay_ms=delay_figures(samples, delay_ms),
        kernel_delay_ms=delay_figures(with_kernel, kernel_delay_ms),
        client_share_ms_p50=_client_share_ms(with_kernel),
        jitter_ms=_jitter_ms(samples),
        clock_bound_ms=max(
            (each.clock_bound_us / 1000 for each in samples if each.clock_bound_us is not None), default=None
        ),
        source_lag_ms_p99=quantile([lag_us / 1000 for lag_us in record.source_lag_us], 0.99),
        client_means_ms=_client_means(
            samples, max(record.spec.clients, *(n + 1 for n in record.participants), 0)
        ),
    )


def is_sample(delivery: Delivery) -> bool:
    """Whether an arrival's delay may be used."""
    return (
        not delivery.warmup
        and delivery.state is SampleState.OK
        and delivery.outcome in (Outcome.ON_TIME, Outcome.LATE)
        and delivery.received_us is not None
    )


def delay_ms(delivery: Delivery) -> float:
    """The delay of a sample."""
    delay = delivery.delay_ms
    assert delay is not None, "a sample has arrived, with a known clock"
    return delay


def kernel_delay_ms(delivery: Delivery) -> float:
    """The delay of a sample with a kernel stamp, up to that stamp."""
    assert delivery.kernel_received_us is not None
    return (delivery.kernel_received_us - delivery.due_us) / 1000


def delay_figures(samples: Sequence[Delivery], delay: Callable[[Delivery], float]) -> DelayFigures:
    """A trial's delays: per client first, then over clients, so that each client counts alike."""
    delays = [[delay(each) for each in own] for own in by_client(samples).values()]
    return DelayFigures(
        mean=mean([value for own in delays if (value := mean(own)) is not None]),
        p50=_middle_client(delays, 0.50),
        p95=_middle_client(delays, 0.95),
        p99=_middle_client(delays, 0.99),
        max=max((max(own) for own in delays), default=None),
    )


def supported_quantile(values: Sequence[float], share: float, *, broadcasts: int) -> float | None:
    """The quantile, or `None` when fewer broadcasts than it needs lie behind the values."""
    return quantile(values, share) if share <= 0.5 or broadcasts >= broadcasts_min(share) else None


def broadcasts_min(share: float) -> int:
    """How many independent broadcasts a quantile above the median needs."""
    return round(TAIL_BROADCASTS / (1 - share))


def by_client(deliveries: Iterable[Delivery]) -> dict[int, list[Delivery]]:
    """Deliveries of each client, order kept."""
    clients: dict[int, list[Delivery]] = {}
    for each in deliveries:
        clients.setdefault(each.client, []).append(each)
    return clients


def _first_arrivals(measured: Iterable[Delivery]) -> list[Delivery]:
    """One row for each delivery that arrived, in the order of arrival at its client."""
    arrived: dict[tuple[int, int], Delivery] = {}
    for each in measured:
        if each.outcome in ARRIVED:
            arrived.setdefault((each.client, each.seq), each)
    return sorted(arrived.values(), key=_arrival_us)


def _arrival_us(delivery: Delivery) -> float:
    """The client's own clock orders its arrivals; rows with the same stamp keep the order in which they came."""
    return delivery.received_client_us if delivery.received_client_us is not None else float("inf")


def _out_of_order(arrivals: Iterable[Delivery]) -> int:
    """RFC 4737, section 3.3: reordered is what has a number below NextExp, which only ever rises."""
    next_expected, count = 0, 0
    for each in arrivals:
        if each.seq < next_expected:
            count += 1
        else:
            next_expected = each.seq + 1
    return count


def _middle_client(delays: Sequence[Sequence[float]], share: float) -> float | None:
    """The median of the clients' quantiles; `None` when one of the clients has too few for its own."""
    quantiles = [supported_quantile(own, share, broadcasts=len(own)) for own in delays]
    supported = [value for value in quantiles if value is not None]
    return median(supported) if len(supported) == len(quantiles) else None


def _client_share_ms(samples: Iterable[Delivery]) -> float | None:
    shares = [[delay_ms(each) - kernel_delay_ms(each) for each in own] for own in by_client(samples).values()]
    return _middle_client(shares, 0.5)


def _jitter_ms(samples: Iterable[Delivery]) -> float | None:
    """The median over clients of the final J; `None` when no client has two samples."""
    finals = [_final_jitter_ms(own) for own in by_client(samples).values()]
    return median([value for value in finals if value is not None])


def _final_jitter_ms(arrivals: Sequence[Delivery]) -> float | None:
    """RFC 3550, section 6.4.1: D = (R_j - R_i) - (S_j - S_i); J += (|D| - J) / 16, in order of arrival, from J = 0.

    S is `sent_us`, so that a late source is not taken for jitter; R is the client's own clock, since its offset
    cancels. From 0, J needs some 16 arrivals for two thirds of its way: short trials give too small a J, in all
    arms alike.
    """
    transits_us = [
        each.received_client_us - each.sent_us
        for each in arrivals
        if each.received_client_us is not None and each.sent_us is not None
    ]
    jitter_us = 0.0
    for before, after in pairwise(transits_us):
        jitter_us += (abs(after - before) - jitter_us) * JITTER_GAIN
    return jitter_us / 1000 if len(transits_us) >= 2 else None


def _client_means(samples: Iterable[Delivery], clients: int) -> tuple[float | None, ...]:
    own = by_client(samples)
    return tuple(mean([delay_ms(each) for each in own.get(client, ())]) for client in range(clients))


def _count_states(deliveries: Iterable[Delivery]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for each in deliveries:
        # A row that calls itself usable and has no clock is not.
        state = (
            SampleState.NO_CLOCK if each.state is SampleState.OK and each.received_us is None else each.state
        )
        if each.outcome is Outcome.REPLAYED:
            state = SampleState.REPLAY
        counts[state.value] = counts.get(state.value, 0) + 1
    return dict(sorted(counts.items()))
