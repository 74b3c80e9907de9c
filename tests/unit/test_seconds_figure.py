"""The run second by second: only where it has a course, with what was not recorded left blank."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from xml.etree import ElementTree

from app.core.timeline import CpuSecond, TrialTimeline
from app.core.trial import TrialRecord
from app.i18n import speaker
from app.lab.analysis.analyse import Analysis, analyse
from app.lab.analysis.descriptive.seconds import seconds
from app.lab.report.contents.sections import document_of
from app.lab.report.document import figures_of
from app.lab.report.figures.seconds import seconds_figure
from tests.unit.support_run import RunMaker, a_plan

CPU = TrialTimeline(cpu_seconds=tuple(CpuSecond(at, 1.0, 0.02 * (at + 1), 0.01, 0.1) for at in range(4)))


@cache
def four_seconds() -> Analysis:
    def with_course(record: TrialRecord) -> TrialRecord:
        return record if record.spec.idle else replace(record, timeline=CPU)

    # 80 notifications at 20 a second.
    return analyse(
        RunMaker(a_plan(client_counts=(1, 2), blocks=1, notifications=80), alter=with_course).run()
    )


def test_each_second_is_the_mean_of_the_trials_that_count() -> None:
    row = seconds(four_seconds())[0]

    assert row.cpu_process_percent == (1.0, 2.0, 3.0, 4.0)
    assert row.down_kbps == (40.96,) * 4
    assert all(value is not None and 0.2 < value < 3 for value in row.delay_ms)


def test_the_figure_has_every_arm_and_second_in_its_table_and_well_formed_drawings() -> None:
    figure = seconds_figure(four_seconds())

    assert figure is not None
    assert [(row[0], row[1]) for row in figure.table.rows] == [
        (arm, at) for arm in ("SSE", "Socket.IO") for at in range(4)
    ]
    for drawing in figure.drawings:
        ElementTree.fromstring(drawing.picture.svg(speaker("en")))
    assert figure in [each.figure for each in figures_of(document_of(four_seconds()))]


def test_it_is_said_in_indonesian_too() -> None:
    figure = seconds_figure(four_seconds())

    assert figure is not None
    said = (figure.title, figure.caption, *figure.table.headings, *(each.heading for each in figure.drawings))
    assert all(speaker("id")(each) != speaker("en")(each) for each in said)


def test_a_trial_of_a_second_has_no_course_to_draw() -> None:
    assert seconds_figure(analyse(RunMaker(a_plan(client_counts=(1,), blocks=1)).run())) is None


def test_what_was_not_recorded_is_no_line_at_zero() -> None:
    analysis = analyse(RunMaker(a_plan(client_counts=(1,), blocks=1, notifications=80)).run())

    figure = seconds_figure(analysis)

    assert figure is not None
    assert "not recorded" in figure.drawings[0].picture.svg(speaker("en"))
    assert {row[2] for row in figure.table.rows} == {None}
