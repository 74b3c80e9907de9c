"""Gaps, spikes, missing ones, seconds, places and paint: each figure by hand."""

from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from app.core.delivery import Delivery, SampleState
from app.core.instrument import ConnectionRecord, InstrumentRecord
from app.core.timeline import TrialTimeline, Upload
from app.core.trial import TrialRecord
from app.lab.analysis.analyse import analyse
from app.lab.analysis.descriptive.arm_rows import (
    SECONDS_DELIVERIES_MAX,
    descriptive_rows,
    from_sent_ms_p50,
    thinned,
)
from app.lab.analysis.descriptive.display import display_ms, display_rows
from app.lab.analysis.metrics.arrivals import arrival_figures, pooled
from app.lab.analysis.metrics.positions import position_figures, slope_us
from app.lab.analysis.metrics.telemetry import (
    Series,
    Telemetry,
    both_zero_rate,
    interval_row,
    level_row,
    telemetry,
)
from app.lab.report.data.result import descriptive_json
from app.lab.report.renderers.console.live import print_display
from tests.unit.support_run import CLIENT_CLOCK_US, EPOCH_US, RunMaker, a_delivery, a_plan, a_trial

SLOW = replace(a_plan(client_counts=(1, 2), notifications=4, warmup=0), rate_hz=1.0)
"""A notification each second."""


def arrivals(*delays_ms: float | None, client: int = 0) -> list[Delivery]:
    return [
        a_delivery(client=client, seq=seq, due_ms=seq * 1000.0, delay_ms=delay)
        for seq, delay in enumerate(delays_ms)
    ]


@pytest.mark.parametrize(
    ("delays_ms", "intervals", "over_2s", "over_5s", "longest_ms"),
    [
        ((1.0, 1.0, 1.0, 1.0), 3, 0, 0, 1000.0),
        ((1.0, 2001.0, 1001.0, 1.0), 3, 0, 0, 3000.0),  # the third and fourth came with the second
        (
            (1.0, None, None, 1.0),
            1,
            0,
            0,
            3000.0,
        ),  # of 3 s, 1 s was to be waited
        ((1.0, None, None, 1.5), 1, 1, 0, 3000.5),
        ((1.0, None, None, 4001.0), 1, 1, 1, 7000.0),
        ((None, None, None, None), 0, 0, 0, None),
    ],
)
def test_gaps_count_what_was_waited_beyond_the_period(
    delays_ms: tuple[float | None, ...], intervals: int, over_2s: int, over_5s: int, longest_ms: float | None
) -> None:
    figures = arrival_figures(a_trial(arrivals(*delays_ms), plan=SLOW), SLOW)

    assert (figures.intervals, figures.gaps_over_2s, figures.gaps_over_5s) == (intervals, over_2s, over_5s)
    assert figures.interval_ms_max == pytest.approx(longest_ms)
    assert figures.gap_over_2s_share == (over_2s / intervals if intervals else None)


def test_a_broadcast_that_is_late_for_all_is_one_spike_event() -> None:
    rows = arrivals(501.0, 1.0, 500.0, 1.0) + arrivals(800.0, 1.0, 1.0, 900.0, client=1)

    figures = arrival_figures(a_trial(rows, plan=SLOW, clients=2), SLOW)

    assert (figures.spikes_over_500ms, figures.spike_events) == (3, 2)
    assert figures.spike_share == 3 / 8


def test_what_has_no_usable_sample_is_missing_and_not_zero() -> None:
    rows = [*arrivals(1.0, None, 1.0), a_delivery(seq=3, due_ms=3000.0, state=SampleState.HIDDEN)]

    figures = arrival_figures(a_trial(rows, plan=SLOW), SLOW)

    assert figures.missing_share == 0.5
    assert figures.samples == 2


def test_pooling_adds_counts_up_and_takes_shares_of_the_sums() -> None:
    one = arrival_figures(a_trial(arrivals(1.0, None, None, 1.5), plan=SLOW), SLOW)
    other = arrival_figures(a_trial(arrivals(1.0, 1.0, 1.0, 1.0), plan=SLOW), SLOW)

    both = pooled([one, other])

    assert (both.intervals, both.gap_over_2s_share, both.missing_share) == (4, 0.25, 0.25)
    assert (pooled([]).expected, pooled([]).missing_share) == (0, None)


def test_of_several_trials_intervals_the_middle_one_stands_and_one_without_any_is_passed_over() -> None:
    trials = [(1.0, None, None, 1.5), (1.0, 1.0), (1.0, 2.0), (1.0, None)]  # 3000.5, 1000 and 1001 ms; none

    found = pooled([arrival_figures(a_trial(arrivals(*each), plan=SLOW), SLOW) for each in trials])

    assert (found.interval_ms_p50, found.interval_ms_p95) == pytest.approx((1001.0, 1001.0))
    assert found.interval_ms_max == pytest.approx(3000.5)


def test_a_trial_that_never_began_has_no_shares() -> None:
    figures = arrival_figures(a_trial([], plan=SLOW, completed=False, published=0), SLOW)

    assert (figures.expected, figures.missing_share, figures.spike_share) == (0, None, None)


def test_a_second_without_arrivals_is_zero_traffic_and_blank_delay() -> None:
    rows = arrivals(1.0, None, 3.0, 5.0)

    (found,) = telemetry(a_trial(rows, plan=SLOW), SLOW)

    assert found.down_kbps == (2.048, 0.0, 2.048, 2.048)  # 256 bytes are 2,048 bits
    assert found.delay_ms == pytest.approx((1.0, None, 3.0, 5.0))
    # RFC 3550: 2 ms / 16, then (2 - 0.125) / 16 more; the first arrival has nothing to differ from.
    assert found.jitter_ms == pytest.approx((None, None, 0.125, 0.2421875))
    assert found.intervals_s == pytest.approx((2.002, 1.002))


def test_jitter_is_that_of_the_way_from_the_sending_or_where_it_is_unknown_from_when_it_was_due() -> None:
    late = [
        a_delivery(seq=seq, due_ms=seq * 1000.0, lag_ms=8.0 * (seq % 2), delay_ms=9.0) for seq in range(4)
    ]

    (from_sent,) = telemetry(a_trial(late, plan=SLOW), SLOW)
    (from_due,) = telemetry(a_trial([replace(each, sent_us=None) for each in late], plan=SLOW), SLOW)

    # RFC 3550: 9, 1, 9 and 1 ms on the way; a sixteenth of what each differs by, and of what it had been less.
    assert from_sent.jitter_ms == pytest.approx((None, 0.5, 0.96875, 1.408203125))
    assert from_due.jitter_ms == pytest.approx((None, 0.0, 0.0, 0.0))


def test_an_arrival_that_no_second_can_be_given_blanks_its_client() -> None:
    rows = [*arrivals(1.0, 1.0, 1.0), a_delivery(seq=3, due_ms=3000.0, bound_ms=None)]

    (found,) = telemetry(a_trial(rows, plan=SLOW), SLOW)

    assert set(found.down_kbps) == {None}
    assert level_row([found.down_kbps]).missing_rate == 1.0


def test_a_second_begins_with_its_first_microsecond_and_ends_before_the_next_ones() -> None:
    (found,) = telemetry(a_trial(arrivals(999.999, 0.0, 999.999, 0.0), plan=SLOW), SLOW)

    assert found.down_kbps == (2.048,) * 4


def test_what_a_client_sent_before_the_first_second_or_behind_the_last_is_in_none() -> None:
    moments_us = (-1, 0, 999_999, 1_000_000, 3_999_999, 4_000_000)
    course = TrialTimeline(uploads=tuple(Upload(0, CLIENT_CLOCK_US + each, 250) for each in moments_us))

    (found,) = telemetry(a_trial(arrivals(1.0, 1.0, 1.0, 1.0), plan=SLOW, timeline=course), SLOW)

    assert found.up_kbps == (4.0, 2.0, 0.0, 2.0)


def test_when_a_client_without_a_clock_sent_something_nobody_knows() -> None:
    rows = [a_delivery(seq=seq, due_ms=seq * 1000.0, bound_ms=None) for seq in range(4)]
    course = TrialTimeline(uploads=(Upload(0, CLIENT_CLOCK_US, 9),))

    (found,) = telemetry(a_trial(rows, plan=SLOW, timeline=course), SLOW)

    assert found.up_kbps == (None, None, None, None)


def test_a_trial_in_which_nothing_was_measured_has_no_seconds() -> None:
    warm_up = a_delivery(warmup=True, state=SampleState.WARMUP)

    assert telemetry(a_trial([], plan=SLOW), SLOW) == ()
    assert telemetry(a_trial([warm_up], plan=SLOW), SLOW) == ()


def test_of_a_trial_beyond_the_limit_every_so_many_th_client_is_looked_at_second_by_second() -> None:
    quarter = SECONDS_DELIVERIES_MAX // 4
    rows = [a_delivery(client=client, seq=seq) for client in range(4) for seq in range(quarter)]

    just = a_trial(rows, plan=SLOW)
    beyond = thinned(a_trial([*rows, a_delivery(client=3, seq=quarter)], plan=SLOW))

    assert thinned(just) is just
    assert {each.client for each in beyond.deliveries} == {0, 2}
    assert len(beyond.deliveries) == 2 * quarter


def test_nothing_went_either_way_only_in_seconds_of_which_both_ways_are_known() -> None:
    down: Series = (0.0, 0.0, 2.0, None, None, 0.0)
    up: Series = (0.0, 4.0, 0.0, 0.0, None, None)
    nothing: Series = (None,) * 6

    found = Telemetry(0, down, up, delay_ms=nothing, jitter_ms=nothing, intervals_s=())
    unknown = Telemetry(1, nothing, up, delay_ms=nothing, jitter_ms=nothing, intervals_s=())

    assert both_zero_rate([found, unknown]) == 1 / 3  # of the first three, the first
    assert both_zero_rate([unknown]) is None


def test_levels_are_of_the_seconds_that_have_a_value_and_rates_of_all() -> None:
    row = level_row([(4.0, 0.0, None, 2.0), (None, 6.0)])

    assert (row.seconds, row.mean, row.p50, row.min, row.max) == (6, 3.0, 3.0, 0.0, 6.0)
    assert (row.missing_rate, row.zero_rate, row.nonzero_rate) == (2 / 6, 1 / 6, 3 / 6)
    assert level_row([]).missing_rate is None


def test_intervals_of_all_clients_are_taken_together_and_nothing_is_subtracted() -> None:
    rows = arrivals(1.0, None, None, 1.0) + arrivals(1.0, 1.0, 1.0, 1.0, client=1)

    row = interval_row(telemetry(a_trial(rows, plan=SLOW, clients=2), SLOW))

    assert (row.intervals, row.median_s, row.max_s) == (4, 1.0, 3.0)
    assert row.p95_s == pytest.approx(2.7)  # of 1, 1, 1 and 3, type 7
    assert (row.over_2s_rate, row.over_5s_rate) == (0.25, 0.0)


def written(order: list[list[int]], step_us: int) -> InstrumentRecord:
    """Connections of clients that were written to in these orders, a step apart."""
    clients = sorted(order[0])
    return InstrumentRecord(
        connections=tuple(
            ConnectionRecord(
                client=client,
                address="127.0.0.1",
                port=1,
                accepted=tuple(
                    (seq, EPOCH_US + seq * 1_000_000 + 100 + places.index(client) * step_us)
                    for seq, places in enumerate(order)
                ),
            )
            for client in clients
        )
    )


def test_each_place_further_back_waits_one_write_longer() -> None:
    rows = [row for client in range(3) for row in arrivals(1.0, 1.0, 1.0, 1.0, client=client)]
    order = [[0, 1, 2], [2, 1, 0], [1, 0, 2], [0, 2, 1]]
    trial = a_trial(rows, plan=SLOW, clients=3, instrument=written(order, 40))

    figures = position_figures(trial)

    assert figures is not None
    assert figures.effect_us_per_place == pytest.approx(40.0)
    assert (figures.notifications, figures.spread_ms_p50) == (4, pytest.approx(0.08))
    assert figures.first_share_max == 0.5  # client 0, in two of four
    assert [(row.place, row.deliveries) for row in figures.places] == [(0, 4), (1, 4), (2, 4)]
    assert [row.server_ms_p50 for row in figures.places] == pytest.approx([0.1, 0.14, 0.18])


@pytest.mark.parametrize(("notifications", "p95_ms"), [(99, None), (100, 0.9505)])
def test_the_p95_of_the_spread_is_said_from_a_hundred_notifications_on(
    notifications: int, p95_ms: float | None
) -> None:
    """Spreads of 10, 20 ... 1,000 us: type 7 takes place 0.95 x 99 = 94.05, so 950 and a twentieth of 10 more."""
    rows = [row for client in (0, 1) for row in arrivals(*[9.0] * notifications, client=client)]
    writes = [
        [(seq, EPOCH_US + seq * 1_000_000 + 100 + client * 10 * (seq + 1)) for seq in range(notifications)]
        for client in (0, 1)
    ]
    connections = tuple(
        ConnectionRecord(client=client, address="127.0.0.1", port=1, accepted=tuple(own))
        for client, own in enumerate(writes)
    )
    trial = a_trial(rows, plan=SLOW, clients=2, instrument=InstrumentRecord(connections=connections))

    figures = position_figures(trial)

    assert figures is not None
    assert figures.spread_ms_p95 == (None if p95_ms is None else pytest.approx(p95_ms))


def test_one_client_has_no_place_to_compare_and_no_recording_no_figures() -> None:
    alone = a_trial(arrivals(1.0), plan=SLOW, instrument=written([[0]], 40))

    figures = position_figures(alone)

    assert figures is not None
    assert (figures.effect_us_per_place, figures.spread_ms_p50, figures.first_share_max) == (None, None, None)
    assert position_figures(a_trial(arrivals(1.0), plan=SLOW)) is None


def test_the_common_slope_ignores_what_differs_between_groups() -> None:
    both, one = np.array([0.0, 1.0]), np.array([0.0])

    assert slope_us([(both, np.array([1.0, 1.5])), (both, np.array([90.0, 90.5]))]) == pytest.approx(500.0)
    assert slope_us([(one, np.array([1.0])), (one + 3, np.array([9.0]))]) is None


def test_the_delay_from_sent_leaves_out_what_the_source_was_late() -> None:
    def late(record: TrialRecord) -> TrialRecord:
        rows = [a_delivery(seq=seq, due_ms=seq * 50.0, lag_ms=2.0, delay_ms=5.0) for seq in range(2)]
        return record if record.spec.idle else replace(record, deliveries=rows)

    plan = a_plan(client_counts=(1,), blocks=1, notifications=2, warmup=0)
    trial = analyse(RunMaker(plan, alter=late).run()).trials[0]

    assert from_sent_ms_p50(trial) == pytest.approx(3.0)


def painted(device: str, display: float | None, **changes: object) -> dict[str, object]:
    return {
        "transport": "sse",
        "device": device,
        "id": 1,
        "outcome": "on_time",
        "visible": True,
        "received_client_us": 1000.0,
        "displayed_client_us": None if display is None else 1000.0 + display * 1000,
        **changes,
    }


def test_display_delay_is_paint_minus_stamp_and_each_phone_counts_alike() -> None:
    samples = [
        *(painted("d-1", 10.0) for _ in range(9)),
        painted("d-2", 30.0),
        painted("d-2", None),
        painted("d-2", 99.0, visible=False),
        painted("d-2", 99.0, outcome="duplicate"),
    ]

    (row,) = display_rows(samples)

    assert (row.devices, row.painted, row.unpainted) == (2, 10, 2)
    assert row.display_ms_p50 == 20.0
    assert row.display_ms_p95 is None
    assert display_ms(samples[9]) == 30.0


def test_display_delay_is_said_where_something_was_painted_and_not_where_nothing_was() -> None:
    file = StringIO()
    console = Console(file=file, width=100)

    print_display([painted("d-1", None)], console)
    assert file.getvalue() == ""

    print_display([painted("d-1", 10.0), painted("d-2", 30.0)], console)
    assert "Shown on the page 20.00 ms after its arrival (median): SSE, 2 notifications on 2 phones" in (
        file.getvalue().replace("\n", " ")
    )


def test_a_report_says_what_phones_took_to_paint_and_says_nothing_where_nobody_painted() -> None:
    def shown(record: TrialRecord) -> TrialRecord:
        return replace(record, display_ms=[8.0, 10.0, 40.0] if record.spec.arm.transport == "sse" else [])

    plan = a_plan(blocks=3, notifications=50)
    by_sse, by_socketio = descriptive_rows(analyse(RunMaker(plan, alter=shown).run()))[:2]

    assert (by_sse.display_ms_p50, by_sse.display_ms_p95) == (10.0, 40.0)
    assert (by_socketio.display_ms_p50, by_socketio.display_ms_p95) == (None, None)
    assert descriptive_json(by_sse)["display_ms_p50"] == 10.0
