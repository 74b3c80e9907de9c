"""A trial's figures against ones worked out by hand, on a handful of deliveries."""

from dataclasses import replace

import pytest

from app.core.delivery import Delivery, Outcome, SampleState
from app.lab.analysis.metrics.cpu import cpu_figures
from app.lab.analysis.metrics.trial_metrics import DelayFigures, broadcasts_min, measure
from tests.unit.support_run import a_delivery, a_plan, a_trial, cpu_use

PLAN = a_plan(client_counts=(1, 2), notifications=4, warmup=1)


def row(client: int, seq: int, delay_ms: float | None, **rest: object) -> Delivery:
    return a_delivery(client=client, seq=seq, due_ms=seq * 50.0, delay_ms=delay_ms, **rest)  # type: ignore[arg-type]


def arrivals(delays_ms: dict[int, list[float]]) -> list[Delivery]:
    """Delays per client, of notifications numbered from 1: number 0 is the warm-up."""
    return [row(client, seq, ms) for client, own in delays_ms.items() for seq, ms in enumerate(own, 1)]


def test_each_client_counts_alike_in_a_trials_delay() -> None:
    trial = a_trial(arrivals({0: [1.0, 2.0, 3.0, 10.0], 1: [4.0, 4.0, 4.0, 4.0]}), clients=2)

    delay = measure(trial, PLAN).delay_ms

    assert delay.p50 == pytest.approx((2.5 + 4.0) / 2), "median of the clients' medians"
    assert delay.mean == pytest.approx((4.0 + 4.0) / 2), "mean of the clients' means"
    assert delay.max == pytest.approx(10.0)
    assert measure(trial, PLAN).client_means_ms == pytest.approx((4.0, 4.0))


def test_warm_up_counts_nowhere() -> None:
    warm = row(0, 0, 900.0, warmup=True, state=SampleState.WARMUP)
    twice = row(0, 0, 905.0, warmup=True, state=SampleState.WARMUP, outcome=Outcome.DUPLICATE)
    trial = a_trial([warm, twice, *arrivals({0: [1.0, 1.0, 1.0, 1.0]})])

    metrics = measure(trial, PLAN)

    assert (metrics.expected, metrics.delivered, metrics.samples) == (4, 4, 4)
    assert (metrics.duplicates, metrics.left_out) == (0, {})
    assert metrics.delay_ms.max == pytest.approx(1.0)


def test_delay_counts_from_when_it_was_due() -> None:
    trial = a_trial([row(0, seq, 7.0, lag_ms=3.0) for seq in range(1, 5)])

    assert measure(trial, PLAN).delay_ms.p50 == pytest.approx(7.0)


def test_delay_from_sending_leaves_out_what_the_source_was_late_itself() -> None:
    late = a_delivery(delay_ms=7.0, lag_ms=3.0)

    assert late.delay_from_sent_ms == pytest.approx(4.0)
    assert replace(late, sent_us=None).delay_from_sent_ms is None
    assert replace(late, sent_us=None).delay_ms == pytest.approx(7.0)
    assert a_delivery(delay_ms=None).delay_from_sent_ms is None


def test_what_became_of_each_delivery_is_counted_once() -> None:
    rows = [
        row(0, 1, 1.0),
        row(0, 1, 2.0, outcome=Outcome.DUPLICATE),
        row(0, 2, 6000.0, outcome=Outcome.LATE),
        row(0, 3, 900.0, outcome=Outcome.REPLAYED, state=SampleState.REPLAY),
        row(0, 4, None),
    ]

    metrics = measure(a_trial(rows), PLAN)

    assert (metrics.expected, metrics.delivered, metrics.lost) == (4, 3, 1)
    assert (metrics.late, metrics.replayed, metrics.duplicates) == (1, 1, 1)
    assert metrics.samples == 2, "late ones are samples, replayed ones are not"
    assert metrics.left_out == {"replay": 1}
    assert metrics.delay_ms.max == pytest.approx(6000.0)


def test_a_delivery_without_any_row_is_lost() -> None:
    metrics = measure(a_trial(arrivals({0: [1.0, 1.0]}), clients=2), PLAN)

    assert (metrics.expected, metrics.delivered, metrics.lost) == (8, 2, 6)
    assert metrics.client_means_ms == (pytest.approx(1.0), None)


def test_reordering_is_counted_as_rfc_4737_does() -> None:
    # Arrive as 1, 4, 2, 3: both 2 and 3 are below NextExp = 5.
    rows = [row(0, 1, 1.0), row(0, 2, 200.0), row(0, 3, 200.0), row(0, 4, 1.0)]

    assert measure(a_trial(rows), PLAN).out_of_order == 2


@pytest.mark.parametrize("state", [SampleState.HIDDEN, SampleState.WIDE_U, SampleState.EPOCH_BREAK])
def test_an_arrival_without_a_usable_delay_is_delivered_and_left_out(state: SampleState) -> None:
    metrics = measure(a_trial([row(0, 1, 50.0, state=state), *arrivals({0: [1.0] * 4})[1:]]), PLAN)

    assert (metrics.delivered, metrics.lost, metrics.samples) == (4, 0, 3)
    assert metrics.left_out == {state.value: 1}


def test_an_arrival_without_a_clock_is_no_sample_whatever_it_says() -> None:
    metrics = measure(a_trial([row(0, 1, 1.0, bound_ms=None)]), PLAN)

    assert (metrics.delivered, metrics.samples, metrics.left_out) == (1, 0, {"no_clock": 1})


def test_nothing_received_has_no_figures_and_no_zeros() -> None:
    metrics = measure(a_trial([row(0, seq, None) for seq in range(1, 5)]), PLAN)

    assert metrics.delay_ms == DelayFigures()
    assert (metrics.jitter_ms, metrics.clock_bound_ms, metrics.client_share_ms_p50) == (None, None, None)
    assert metrics.lost == 4


def test_jitter_is_rfc_3550s_j_by_hand() -> None:
    # Transit times from sending 1, 5, 5, 13 ms: |D| = 4, 0, 8.
    # J: 4/16 = 0.25; 0.25 - 0.25/16 = 0.234375; + (8 - 0.234375)/16 = 0.7197265625.
    metrics = measure(a_trial(arrivals({0: [1.0, 5.0, 5.0, 13.0]})), PLAN)

    assert metrics.jitter_ms == pytest.approx(0.7197265625)


def test_a_late_source_is_no_jitter() -> None:
    lags_ms = [0.0, 3.0, 1.0, 9.0]
    rows = [row(0, seq, 2.0 + lag, lag_ms=lag) for seq, lag in enumerate(lags_ms, 1)]

    assert measure(a_trial(rows), PLAN).jitter_ms == pytest.approx(0.0)


def test_jitter_of_a_trial_is_the_median_over_clients() -> None:
    steady, shaky = [1.0, 1.0, 1.0, 1.0], [1.0, 9.0, 1.0, 9.0]
    alone = measure(a_trial(arrivals({0: shaky})), PLAN).jitter_ms

    both = measure(a_trial(arrivals({0: steady, 1: shaky}), clients=2), PLAN).jitter_ms

    assert alone is not None
    assert both == pytest.approx(alone / 2)


@pytest.mark.parametrize(("share", "least"), [(0.95, 100), (0.99, 500)])
def test_a_tail_needs_five_broadcasts_beyond_it(share: float, least: int) -> None:
    plan = a_plan(notifications=least, warmup=0)

    enough = measure(a_trial(arrivals({0: [1.0] * least}), plan=plan), plan).delay_ms
    too_few = measure(a_trial(arrivals({0: [1.0] * (least - 1)}), plan=plan), plan).delay_ms

    name = f"p{round(share * 100)}"
    assert broadcasts_min(share) == least
    assert getattr(enough, name) == pytest.approx(1.0)
    assert getattr(too_few, name) is None
    assert too_few.p50 is not None


def test_the_kernels_lane_has_only_samples_with_a_stamp_of_their_own() -> None:
    rows = [row(0, 1, 1.0, kernel_delay_ms=0.75), row(0, 2, 2.0, kernel_delay_ms=1.25), row(0, 3, 9.0)]

    metrics = measure(a_trial(rows), PLAN)

    assert metrics.kernel_delay_ms.p50 == pytest.approx(1.0)
    assert metrics.client_share_ms_p50 == pytest.approx(0.5)
    assert metrics.delay_ms.p50 == pytest.approx(2.0)


def test_the_clock_bound_is_the_widest_one_used() -> None:
    rows = [
        row(0, 1, 1.0, bound_ms=0.1),
        row(0, 2, 1.0, bound_ms=0.4),
        row(0, 3, 1.0, bound_ms=9.0, state=SampleState.WIDE_U),
    ]

    assert measure(a_trial(rows), PLAN).clock_bound_ms == pytest.approx(0.4)


def test_cpu_is_counted_over_the_idle_rate_by_hand() -> None:
    # 0.044 s in 1.1 s, of which 0.01 s/s idle = 0.011 s: 0.033 s net for 4 deliveries, on two cores.
    trial = a_trial(arrivals({0: [1.0] * 4}), cpu=cpu_use(total_s=0.044, wall_s=1.1))

    cpu = cpu_figures(trial, replace(cpu_use(total_s=0.004, wall_s=0.4), cpu_percent_after=3.5))

    assert cpu.core_percent == pytest.approx(4.0)
    assert cpu.idle_core_percent == pytest.approx(1.0)
    assert cpu.per_delivery_us == pytest.approx(8250.0)
    assert cpu.delta_points == pytest.approx(1.5)
    assert cpu.cpu_percent_points == pytest.approx(2.0)  # 5.5 over the trial, 3.5 over the idle window
    assert cpu.voluntary_switches_per_delivery == pytest.approx(15.0)
    assert cpu.involuntary_switches_per_delivery == pytest.approx(0.75)


def test_without_an_idle_window_there_is_no_net_figure() -> None:
    cpu = cpu_figures(a_trial(arrivals({0: [1.0] * 4}), cpu=cpu_use(total_s=0.044)), None)

    assert (cpu.per_delivery_us, cpu.delta_points, cpu.idle_core_percent) == (None, None, None)
    assert cpu.cpu_percent_points is None
    assert cpu.core_percent is not None


def test_deliveries_outside_of_the_cpu_window_are_not_divided_by() -> None:
    warm = row(0, 0, 1.0, warmup=True, state=SampleState.WARMUP)
    trial = a_trial([warm, *arrivals({0: [1.0] * 4})], cpu=cpu_use(total_s=0.05, wall_s=1.0))
    idle = cpu_use(total_s=0.0, wall_s=0.4)

    with_warm_up = cpu_figures(trial, idle).per_delivery_us
    without = cpu_figures(replace(trial, started_us=warm.due_us + 1), idle).per_delivery_us

    assert with_warm_up == pytest.approx(10_000.0)
    assert without == pytest.approx(12_500.0)


def test_nothing_delivered_costs_nothing_per_delivery() -> None:
    cpu = cpu_figures(a_trial(cpu=cpu_use(total_s=0.05)), cpu_use(total_s=0.001, wall_s=0.4))

    assert cpu.per_delivery_us is None
    assert cpu.delta_points is not None
