"""Figures from columns against the same figures row by row: equal to the last digit, in memory and from a store."""

from __future__ import annotations

import tracemalloc
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.core.columns import NAMES, DeliveryColumns
from app.core.delivery import SampleState
from app.core.errors import StoreError
from app.core.trial import TrialRecord
from app.lab.analysis.columns import columns_of, first_of_each
from app.lab.analysis.descriptive.over_time import stretches_of
from app.lab.analysis.metrics.arrivals import arrival_figures
from app.lab.analysis.metrics.positions import position_figures
from app.lab.analysis.metrics.split import split
from app.lab.analysis.metrics.trial_metrics import measure
from app.lab.analysis.summary import CURVE_POINTS_MAX, curve_of
from app.store import database
from app.store.store import FILE_NAME, RunHead, Store
from tests.support import row_by_row
from tests.support.wild import wild_plan, wild_trials
from tests.unit.support_run import a_delivery, a_trial

PLAN = wild_plan()
SEEDS = range(12)

BYTES_PER_DELIVERY_MAX = 100


@cache
def trials() -> list[TrialRecord]:
    return [trial for seed in SEEDS for trial in wild_trials(seed, PLAN)]


def those_in(expected: dict[str, Any], found: object) -> dict[str, Any]:
    """The figures of a dataclass that were computed row by row too."""
    values = asdict(found)  # type: ignore[call-overload]
    return {name: values[name] for name in expected}


@pytest.mark.parametrize("index", range(2 * len(SEEDS)))
def test_every_figure_is_the_same_to_the_last_digit_as_row_by_row(index: int) -> None:
    trial = trials()[index]
    expected = row_by_row.metrics(trial)
    assert those_in(expected, measure(trial, PLAN)) == expected

    expected = row_by_row.arrivals(trial)
    assert those_in(expected, arrival_figures(trial, PLAN)) == expected


@pytest.mark.parametrize("index", range(2 * len(SEEDS)))
def test_what_the_server_wrote_down_gives_the_same_figures_as_row_by_row(index: int) -> None:
    trial = trials()[index]
    expected, found = row_by_row.split(trial), split(trial)
    assert (None if found is None else those_in(expected or {}, found)) == expected

    expected, places = row_by_row.positions(trial), position_figures(trial)
    if expected is None or places is None:
        assert expected is places is None
        return
    of_places = expected.pop("places")
    assert those_in(expected, places) == expected
    assert {row.place: row.server_ms_p50 for row in places.places} == of_places


def test_the_wild_trials_have_something_of_everything() -> None:
    found = [measure(trial, PLAN) for trial in trials()]

    assert len(found) == 2 * len(SEEDS)
    for name in ("replayed", "late", "lost", "duplicates", "out_of_order"):
        assert sum(getattr(each, name) for each in found) > len(found), name
    assert {"hidden", "no_clock", "replay"} <= {state for each in found for state in each.left_out}
    assert any(split(trial) for trial in trials())


def stored(folder: Path, trials: list[TrialRecord]) -> Path:
    head = RunHead(folder.name, "2026-01-01T00:00:00Z", PLAN, {})
    with Store.create(folder, head) as store:
        for index, trial in enumerate(trials):
            store.add_trial(replace(trial, spec=replace(trial.spec, index=index)))
    return folder


def test_from_a_store_the_figures_are_the_same(tmp_path: Path) -> None:
    with Store.open(stored(tmp_path / "run", trials()[:6])) as store:
        read = store.load().trials

    assert all(isinstance(trial.deliveries, DeliveryColumns) for trial in read)
    assert [measure(trial, PLAN) for trial in read] == [measure(trial, PLAN) for trial in trials()[:6]]
    assert [split(trial) for trial in read] == [split(trial) for trial in trials()[:6]]


def test_columns_are_a_sequence_of_the_same_rows() -> None:
    rows = trials()[0].deliveries
    columns = DeliveryColumns.of(rows)

    assert len(columns) == len(rows)
    assert (columns[0], columns[-1], columns[2:9:3]) == (rows[0], rows[-1], rows[2:9:3])
    assert columns == rows
    assert rows == columns
    assert columns != rows[:-1]
    assert columns != ("no delivery",) * len(rows)
    assert DeliveryColumns.of_rows(columns.rows()) == columns
    assert DeliveryColumns.of(columns) is columns


def test_nobody_can_change_a_measured_value_through_the_analysis() -> None:
    columns = columns_of(trials()[0].deliveries)

    with pytest.raises(ValueError, match="read-only"):
        columns.due_us[0] = 0


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("state", "excellent"),
        ("outcome", "won"),
        ("due_us", "noon"),
        ("received_client_us", "late"),
        ("seq", 1.5),
    ],
)
def test_a_row_that_nobody_here_wrote_is_refused_in_words(tmp_path: Path, column: str, value: object) -> None:
    folder = stored(tmp_path / "run", [a_trial([a_delivery()])])
    foreign = database.connect(folder / FILE_NAME, write=True)
    values = dict(zip(NAMES, next(DeliveryColumns.of([a_delivery()]).rows()), strict=True)) | {column: value}
    marks = ", ".join("?" * (1 + len(values)))
    foreign.execute(f"INSERT INTO delivery VALUES ({marks})", (0, *values.values()))
    foreign.close()

    with Store.open(folder) as store, pytest.raises(StoreError, match="damaged"):
        store.load()


@pytest.mark.slow
def test_a_trial_takes_a_hundred_bytes_a_delivery_and_no_more_while_it_is_read(tmp_path: Path) -> None:
    """The bound that keeps 1.8 million deliveries below 2 GB; as objects they took seven times as much."""
    rows = [a_delivery(client=client, seq=seq) for client in range(100) for seq in range(200)]
    folder = stored(tmp_path / "run", [a_trial(rows, clients=100)])
    count = len(rows)
    del rows

    tracemalloc.start()
    with Store.open(folder) as store:
        run = store.load()
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(run.trials[0].deliveries) == count
    assert held < BYTES_PER_DELIVERY_MAX * count + 200_000
    # What is being turned from rows into columns is some hundred rows, however many the trial has.
    assert peak < BYTES_PER_DELIVERY_MAX * count * 1.2 + 1_000_000


def test_a_thinned_curve_keeps_the_first_and_the_last_and_every_share_between() -> None:
    delays = np.sort(np.random.default_rng(3).lognormal(size=12_345))

    curve = curve_of(delays)

    assert len(curve.delay_ms) == CURVE_POINTS_MAX
    assert (curve.delay_ms[0], curve.delay_ms[-1]) == (delays[0], delays[-1])
    assert curve.share[-1] == 1.0
    assert max(np.diff(curve.share)) < 1.5 / CURVE_POINTS_MAX
    at = np.searchsorted(delays, curve.delay_ms, side="right") / len(delays)
    assert curve.share == pytest.approx(at)


def test_few_points_are_not_thinned() -> None:
    assert curve_of(np.array([1.0, 2.0, 4.0])).delay_ms == (1.0, 2.0, 4.0)
    assert curve_of(np.empty(0)).delay_ms == ()


def test_the_course_of_a_trial_is_thinned_and_keeps_its_extremes() -> None:
    delays_ms = {seq: 1.0 + 0.001 * seq for seq in range(500)} | {123: 0.25, 321: 900.0}
    rows = [a_delivery(seq=seq, due_ms=seq * 20.0, delay_ms=delay) for seq, delay in delays_ms.items()]

    found = stretches_of([columns_of(rows), columns_of(rows)], 60)

    assert (len(found), sum(each.samples for each in found)) == (60, 1000)
    assert (min(each.low_ms for each in found), max(each.high_ms for each in found)) == (0.25, 900.0)
    assert all(each.low_ms <= each.middle_ms <= each.high_ms for each in found)
    assert (found[0].from_s, found[-1].to_s) == (0.0, pytest.approx(499 * 0.02))
    slow = next(each for each in found if each.high_ms == 900.0)
    assert slow.from_s <= 321 * 0.02 <= slow.to_s


def test_the_stretches_of_a_trial_end_where_it_ends_to_the_last_digit() -> None:
    rows = [a_delivery(seq=seq, due_ms=seq * 1000.0) for seq in range(5)]

    found = stretches_of([columns_of(rows)], 2)

    assert [(each.from_s, each.to_s) for each in found] == [(0.0, 2.0), (2.0, 4.0)]
    assert [each.samples for each in found] == [2, 3]  # Due at 0 and 1 s; at 2, 3 and 4 s.


def test_a_trial_without_samples_has_no_course_and_one_notification_has_one_stretch() -> None:
    assert stretches_of([columns_of([a_delivery(delay_ms=None)])], 60) == ()
    assert [each.middle_ms for each in stretches_of([columns_of([a_delivery(delay_ms=2.0)])], 1)] == [2.0]


def test_a_trial_of_which_only_the_warm_up_came_adds_nothing_to_the_course() -> None:
    warm_up = columns_of([a_delivery(delay_ms=900.0, warmup=True, state=SampleState.WARMUP)])

    (found,) = stretches_of([warm_up, columns_of([a_delivery(delay_ms=2.0)])], 1)

    assert (found.samples, found.low_ms, found.middle_ms, found.high_ms) == (1, 2.0, 2.0, 2.0)


def test_the_first_of_each_is_one_row_of_each_client_and_notification_in_their_order() -> None:
    seen = [(1, 5), (0, 5), (1, 5), (0, 6), (0, 5), (1, 6)]
    columns = columns_of(DeliveryColumns.of(a_delivery(client=client, seq=seq) for client, seq in seen))

    assert first_of_each(columns, np.ones(len(seen), dtype=bool)).tolist() == [0, 1, 3, 5]


def test_rows_come_back_as_they_were_with_what_is_missing_and_whatever_the_integer() -> None:
    missing = [(each, None, None) for each in (0, 1)]
    negative = [(each, -126, -(2**53)) for each in (2, 3)]
    deliveries = [
        replace(a_delivery(seq=seq), offset=offset, sent_us=sent_us)
        for seq, offset, sent_us in (*missing, *negative)
    ]
    columns = DeliveryColumns.of(deliveries)

    assert list(columns) == deliveries
    assert [row[NAMES.index("offset")] for row in columns.rows()] == [None, None, -126, -126]
    assert DeliveryColumns.of_rows(columns.rows()) == columns
