"""Tails by nines and boxes of clients against NumPy's quantiles; places from what the server recorded."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from app.i18n import speaker
from app.lab.analysis.analyse import Analysis, analyse
from app.lab.analysis.descriptive.shapes import HALF, boxes, places, share_of, tails
from app.lab.analysis.metrics.trial_metrics import broadcasts_min, is_sample
from app.lab.analysis.summary import SummaryRow
from app.lab.report.figures.shapes import boxes_figure, nines_figure, places_figure
from tests.support.records import recorded
from tests.unit.support_run import RunMaker, a_plan

STEP_US = 12
"""What each further client waits more."""


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    plan = a_plan(client_counts=(3,), blocks=3, notifications=40)
    return analyse(RunMaker(plan, alter=partial(recorded, step_us=STEP_US)).run())


def delays_ms(analysis: Analysis, row: SummaryRow, client: int | None = None) -> list[float]:
    return [
        each.delay_ms
        for trial in analysis.trials
        if trial.record.spec.arm.name == row.arm.name
        for each in trial.record.deliveries
        if is_sample(each) and each.delay_ms is not None and client in (None, each.client)
    ]


def test_each_nine_is_the_quantile_of_all_samples(analysis: Analysis) -> None:
    for row, tail in zip(analysis.summary, tails(analysis), strict=True):
        own = delays_ms(analysis, row)

        assert {0.0, HALF, 1.0} <= {each.nines for each in tail}
        for each in tail:
            assert each.delay_ms == pytest.approx(float(np.quantile(own, share_of(each.nines))))


def test_a_tail_ends_where_too_few_notifications_lie_beyond_it(analysis: Analysis) -> None:
    row, tail = analysis.summary[0], tails(analysis)[0]

    last = share_of(tail[-1].nines)

    assert broadcasts_min(last) <= row.broadcasts
    assert last < 0.99
    assert broadcasts_min(0.99) > row.broadcasts


def test_a_box_holds_the_quartiles_of_its_client(analysis: Analysis) -> None:
    for row, own in zip(analysis.summary, boxes(analysis), strict=True):
        assert [each.client for each in own] == [0, 1, 2]
        for each in own:
            values = delays_ms(analysis, row, each.client)
            found = (each.low_ms, each.q1_ms, each.middle_ms, each.q3_ms, each.high_ms)
            assert each.samples == len(values)
            assert found == pytest.approx(np.quantile(values, [0, 0.25, 0.5, 0.75, 1]).tolist())


def test_each_place_further_back_waits_longer_by_what_a_write_takes(analysis: Analysis) -> None:
    for found in places(analysis):
        for each in found:
            waited = [row.server_ms_p50 for row in each.places]
            assert np.diff(waited).tolist() == pytest.approx([STEP_US / 1000] * 2)


def test_what_the_run_has_nothing_for_is_not_drawn() -> None:
    nothing = analyse(RunMaker(a_plan(client_counts=(1,))).run(complete=False, blocks_done=0))
    unrecorded = analyse(RunMaker(a_plan(client_counts=(2,), blocks=1, notifications=3)).run())

    assert places_figure(nothing) is None
    assert places_figure(unrecorded) is None
    for figure in (nines_figure(nothing), boxes_figure(nothing)):
        assert all("no round counts" in drawing.picture.svg(speaker("en")) for drawing in figure.drawings)


def test_each_nine_is_a_tenth_of_what_was_beyond() -> None:
    assert [share_of(nines) for nines in (0, 1, 2, 3)] == pytest.approx([0.0, 0.9, 0.99, 0.999], abs=1e-12)
