"""What cells come to: medians of the valid ones, ratios of medians, the fit, and the promises."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from app.tools.bench import criteria, summary
from app.tools.bench.plan import DIRECT, FLOOR, STOCK, BenchPlan, quick
from app.tools.bench.run import check_swarm
from app.tools.bench.session import BURST_HTTP, BURST_INSIDE, MEMORY, PACED, SWARM, BenchCell
from app.tools.bench.show import METRIC_WORDS, print_criteria
from app.tools.bench.summary import exponent

PLAN = BenchPlan(transports=("sse",))


def paced(server: str, cpu_us: float, *, subscribers: int = 1_000, repetition: int = 0) -> BenchCell:
    values: dict[str, float | None] = {"cpu_us": cpu_us, "p50_ms": 1.0, "p99_ms": 2.0}
    return BenchCell(PACED, server, "sse", subscribers, repetition, values)


def row_of(cells: list[BenchCell], metric: str) -> summary.SummaryRow:
    return next(row for row in summary.rows(cells, PLAN) if row.metric == metric)


@pytest.mark.parametrize("b", [0.0, 0.5, 1.0, -0.3])
def test_the_fit_finds_the_exponent_that_made_the_data(b: float) -> None:
    points = [(n, 7.0 * n**b) for n in (100.0, 1_000.0, 5_000.0, 10_000.0)]

    assert exponent(points) == pytest.approx(b, abs=1e-12)


@pytest.mark.parametrize(
    "points", [[], [(100.0, 5.0)], [(100.0, 5.0), (100.0, 6.0)], [(1.0, 0.0), (2.0, 1.0)]]
)
def test_the_fit_needs_two_levels(points: list[tuple[float, float]]) -> None:
    assert exponent(points) is None


def test_a_ratio_is_that_of_the_medians() -> None:
    cells = [
        *(paced(FLOOR, cost, repetition=index) for index, cost in enumerate((10.0, 1.0, 100.0))),
        *(paced(DIRECT, cost, repetition=index) for index, cost in enumerate((12.0, 11.0, 90.0))),
    ]

    assert row_of(cells, "cpu_us").ratio(DIRECT, FLOOR) == pytest.approx(1.2)


def test_an_invalid_cell_is_left_out_of_the_median() -> None:
    wrong = paced(FLOOR, 1_000.0, repetition=1)
    wrong.problems.append("3 lost")

    row = row_of([paced(FLOOR, 10.0), wrong], "cpu_us")

    assert (row.medians, row.counts) == ({FLOOR: 10.0}, {FLOOR: 1})


def test_a_server_that_was_not_measured_has_no_ratio() -> None:
    assert row_of([paced(FLOOR, 10.0)], "cpu_us").ratio(DIRECT, FLOOR) is None


def test_a_burst_is_shown_with_the_load_of_its_readers() -> None:
    cell = BenchCell(
        BURST_HTTP, DIRECT, "sse", 1_000, 0, {"deliveries_per_s": 1e5, "p99_ms": 8.0, "swarm_busy": 0.97}
    )

    assert row_of([cell], "swarm_busy").medians == {DIRECT: 0.97}


def in_windows(server: str, repetition: int, rates: dict[int, float | None]) -> BenchCell:
    """A burst whose windows, by round, had these rates."""
    windows: list[dict[str, float | None]] = [
        {"round": number, "deliveries_per_s": rate} for number, rate in rates.items()
    ]
    return BenchCell(BURST_HTTP, server, "sse", 1_000, repetition, {"deliveries_per_s": 1.0}, windows=windows)


def test_a_bursts_ratio_is_of_windows_of_the_same_round() -> None:
    """Here the machine is slow in the second round, and in the second repetition altogether."""
    cells = [
        in_windows(FLOOR, 0, {0: 10.0, 1: 2.0, 2: 10.0, 3: None}),
        in_windows(DIRECT, 0, {0: 20.0, 1: 4.0, 2: 30.0, 3: 99.0}),
        in_windows(STOCK, 0, {0: 1.0}),
        in_windows(FLOOR, 1, {0: 1.0, 1: 1.0}),
        in_windows(DIRECT, 1, {0: 3.0, 1: 3.0}),
        in_windows(DIRECT, 2, {0: 99.0}),
    ]

    row = row_of(cells, "deliveries_per_s")

    assert row.in_rounds == {"direct/floor": 2.5, "stock/floor": 0.1, "stock/direct": 0.05}
    assert row.ratio(DIRECT, FLOOR) == 2.5
    cells[4].problems.append("3 lost")
    assert row_of(cells, "deliveries_per_s").ratio(DIRECT, FLOOR) == 2.0


def test_a_burst_without_a_figure_has_no_ratio_in_rounds_either() -> None:
    """As where too few rounds had delays of everybody."""
    cells = [in_windows(FLOOR, 0, {0: 10.0}), in_windows(DIRECT, 0, {0: 20.0})]
    cells[1].values["deliveries_per_s"] = None

    assert row_of(cells, "deliveries_per_s").ratio(DIRECT, FLOOR) is None


def test_every_figure_has_a_name_on_the_terminal() -> None:
    assert {metric for metrics in summary.METRICS.values() for metric in metrics} <= set(METRIC_WORDS)


def test_the_growth_has_one_exponent_per_repetition_and_the_ratio_of_medians() -> None:
    cells = [
        paced(DIRECT, cost, subscribers=subscribers, repetition=repetition)
        for repetition, costs in enumerate(((10.0, 100.0), (10.0, 10.0), (10.0, 1_000.0)))
        for subscribers, cost in zip((100, 10_000), costs, strict=True)
    ]

    (growth,) = summary.growth(cells, PLAN)

    assert growth.exponents == pytest.approx((0.5, 0.0, 1.0))
    assert growth.exponent == pytest.approx(0.5)
    assert growth.ratio == pytest.approx(10.0)


@pytest.mark.parametrize(("cost", "met"), [(12.4, True), (12.6, False)])
def test_the_promise_about_cpu_is_held_against_the_floor(cost: float, met: bool) -> None:
    cells = [paced(FLOOR, 10.0, repetition=each) for each in range(5)]
    cells += [paced(DIRECT, cost, repetition=each) for each in range(5)]

    (found,) = (each for each in criteria.criteria(summary.rows(cells, PLAN), []) if "CPU" in each.text)

    assert (found.met, found.judged) == (met, True)


def test_fewer_than_five_repetitions_are_no_verdict() -> None:
    cells = [paced(FLOOR, 10.0), paced(STOCK, 30.0), paced(DIRECT, 11.0)]

    found = criteria.criteria(summary.rows(cells, PLAN), [])

    assert found
    assert not any(each.judged for each in found)


def bursts(server: str, p99_ms: float, *, swarm_busy: float) -> list[BenchCell]:
    values: dict[str, float | None] = {"deliveries_per_s": 1e5, "p99_ms": p99_ms, "swarm_busy": swarm_busy}
    return [BenchCell(BURST_INSIDE, server, "sse", 1_000, each, dict(values)) for each in range(5)]


@pytest.mark.parametrize(
    ("of_floor", "of_ours", "judged"), [(0.9, 0.7, True), (0.99, 0.7, False), (0.7, 0.97, False)]
)
def test_a_burst_is_judged_only_if_its_swarm_kept_up(of_floor: float, of_ours: float, judged: bool) -> None:
    cells = bursts(FLOOR, 10.0, swarm_busy=of_floor) + bursts(DIRECT, 8.0, swarm_busy=of_ours)

    rate, p99 = criteria.criteria(summary.rows(cells, PLAN), [])

    assert (rate.judged, p99.judged) == (judged, judged)
    assert (rate.met, p99.met) == (False, True)


def test_by_http_nothing_is_promised_about_delays() -> None:
    cells = bursts(FLOOR, 10.0, swarm_busy=0.9) + bursts(DIRECT, 8.0, swarm_busy=0.7)
    by_http = [replace(cell, kind=BURST_HTTP) for cell in cells]

    (rate,) = criteria.criteria(summary.rows(by_http, PLAN), [])

    assert "deliveries/s" in rate.text


def test_what_may_be_the_swarms_own_figure_is_marked_and_explained() -> None:
    cells = bursts(FLOOR, 10.0, swarm_busy=0.99) + bursts(DIRECT, 8.0, swarm_busy=0.7)
    said = io.StringIO()

    print_criteria(criteria.criteria(summary.rows(cells, PLAN), []), Console(file=said, width=200))

    lines = said.getvalue().splitlines()
    assert [line[0] for line in lines[:2]] == ["?", "?"]
    assert "no verdict" in lines[2]
    assert len(lines) == 3


def test_the_growth_is_judged_by_the_repetitions_that_count_at_every_level() -> None:
    cells = [
        paced(DIRECT, 10.0, subscribers=subscribers, repetition=repetition)
        for repetition in range(5)
        for subscribers in (100, 10_000)
    ]

    def judged() -> list[bool]:
        return [each.judged for each in criteria.criteria([], summary.growth(cells, PLAN))]

    whole = judged()
    cells[-1].problems.append("3 lost")

    assert (whole, judged()) == ([True], [False])


def idle(plan: BenchPlan) -> list[BenchCell]:
    return [
        BenchCell(MEMORY, DIRECT, "sse", 5_000, repetition, {"bytes_per_connection": 2_000.0})
        for repetition in range(plan.idle_count())
    ]


def test_memory_is_held_against_its_bound_in_bytes() -> None:
    (found,) = criteria.criteria(summary.rows(idle(PLAN), PLAN), [])

    assert (found.met, found.judged) == (True, True)


def test_memory_of_a_single_start_is_no_verdict() -> None:
    once = replace(PLAN, repetitions=1)

    (found,) = criteria.criteria(summary.rows(idle(once), once), [])

    assert not found.judged


def burst(kind: str, server: str, rate: float) -> BenchCell:
    return BenchCell(kind, server, "sse", 1_000, 0, {"deliveries_per_s": rate})


@pytest.mark.parametrize(("shown", "is_valid"), [(149_000.0, False), (151_000.0, True)])
def test_a_rate_that_the_swarm_was_not_shown_to_read_is_invalid(shown: float, is_valid: bool) -> None:
    claimed = burst(BURST_HTTP, DIRECT, 100_000.0)

    check_swarm([burst(SWARM, FLOOR, shown), claimed])

    assert claimed.is_valid == is_valid


def test_the_whole_bench_is_expected_to_take_about_a_quarter_of_an_hour_and_the_quick_one_about_a_minute() -> (
    None
):
    assert 13 * 60 < BenchPlan().expected_s() < 16 * 60
    assert 30 < quick(BenchPlan()).expected_s() < 90


def test_levels_are_measured_from_the_largest_down_and_ten_thousand_only_for_the_cost() -> None:
    everything = [level.subscribers for level in BenchPlan().paced_levels(DIRECT)]
    of_stock = [level.subscribers for level in BenchPlan().paced_levels(STOCK)]
    without_cost = [level.subscribers for level in BenchPlan(parts=("paced",)).paced_levels(DIRECT)]

    assert everything == [10_000, 5_000, 1_000, 100]
    assert of_stock == without_cost == [5_000, 1_000, 100]
