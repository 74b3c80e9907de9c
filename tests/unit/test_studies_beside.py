"""Published beside measured: every published figure is there, the run's own stands in its row, and nothing is made up."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from functools import cache

import pytest
from rich.console import Console

from app.core.plan.scenario import Arm
from app.core.timeline import TrialTimeline
from app.core.trial import TrialRecord
from app.i18n import speaker
from app.lab.analysis.analyse import Analysis, analyse
from app.lab.analysis.descriptive.arm_rows import descriptive_rows
from app.lab.report.contents.sections import document_of
from app.lab.report.data.result import result_json
from app.lab.report.renderers.console.published import print_published
from app.lab.report.renderers.markdown import markdown_of
from app.lab.studies.published import studies
from app.lab.studies.registry import all_study_tables
from app.lab.studies.tables import StudyRow, StudyTables
from tests.unit.support_run import RunMaker, a_plan
from tests.unit.test_course import COURSE

IDS = [each["id"] for each in studies()]


def with_course(record: TrialRecord) -> TrialRecord:
    return record if record.spec.idle else replace(record, timeline=COURSE)


@cache
def demo() -> Analysis:
    return analyse(RunMaker(a_plan(blocks=2), alter=with_course).run())


english = speaker("en")


@cache
def nothing() -> Analysis:
    return analyse(RunMaker(a_plan(blocks=2)).run(complete=False, blocks_done=0))


def study(name: str, analysis: Analysis | None = None) -> StudyTables:
    return next(each for each in all_study_tables(analysis or demo()) if each.id == name)


def row(name: str, table: str, figure: str) -> StudyRow:
    (found,) = [
        each
        for own in study(name).tables
        if english(own.title) == table
        for each in own.rows
        if english(each.figure) == figure
    ]
    return found


def numbers_in(value: object) -> list[float]:
    """Every figure of a published table, but the counts of clients that name its columns."""
    if isinstance(value, dict):
        return [each for own in value.values() for each in numbers_in(own)]
    if isinstance(value, list):
        return [each for own in value for each in numbers_in(own)]
    return [float(value)] if isinstance(value, int | float) and not isinstance(value, bool) else []


def test_all_four_studies_are_there_and_each_says_why_it_may_differ() -> None:
    assert sorted(each.id for each in all_study_tables(demo())) == sorted(IDS)
    for each in all_study_tables(demo()):
        assert each.tables
        assert len(each.differences) >= 5


@pytest.mark.parametrize(
    ("name", "keys", "factor"),
    [
        ("orangepi-webrtc-websocket", ("table_1", "table_2"), 1.0),
        ("upi-ws-uwebsockets", ("best_of_uwebsockets",), 1.0),
        ("purbaya-websocket-redis", ("stress", "http_cache"), 1.0),
        ("brawijaya-sse-websocket", ("cpu_percent_points_mean",), 1.0),
        ("brawijaya-sse-websocket", ("delay_s_mean",), 1000.0),
    ],
)
def test_no_published_figure_is_left_out(name: str, keys: tuple[str, ...], factor: float) -> None:
    published = next(each for each in studies() if each["id"] == name)

    shown = [
        value
        for table in study(name).tables
        for own in table.rows
        for value in own.published
        if value is not None
    ]

    for wanted in numbers_in([published[key] for key in keys]):
        assert any(value == pytest.approx(wanted * factor) for value in shown), wanted


def test_the_runs_own_figures_stand_in_their_rows() -> None:
    summary, more = demo().summary, descriptive_rows(demo())
    edge, redis = "orangepi-webrtc-websocket", "purbaya-websocket-redis"

    assert row(edge, "Latency", "typical latency; delay, median").measured == tuple(
        each.delay_ms_p50 for each in summary if each.clients in (1, 6)
    )
    assert row(edge, "Table I", "jitter, p95").measured[0] == more[0].jitter_ms.p95
    assert row(edge, "Table I", "CPU of the process, mean").measured[0] == pytest.approx(10.0)
    assert row(edge, "Table II", "interval, median").measured[-1] == more[-1].intervals.median_s
    assert row(redis, "Stress", "handshake; set-up, median").measured == (3.0, 3.0, 3.0, 3.0)
    assert row(redis, "Stress", "deliveries").measured == pytest.approx((20.0, 20.0, 120.0, 120.0))
    assert row("upi-ws-uwebsockets", "Best figures", "connecting; set-up, median").measured[0] == 3.0
    sse = row("brawijaya-sse-websocket", "Mean delay by number of clients", "3 clients")
    assert sse.measured == tuple(each.delay_ms_mean for each in summary if each.clients == 3)
    assert sse.published == pytest.approx((459.0, 613.0))
    assert sse.derived == {0}


def test_a_figure_has_the_unit_of_its_column_and_what_is_missing_is_a_share_of_it() -> None:
    (table,) = (
        each for each in study("orangepi-webrtc-websocket").tables if english(each.title) == "Table I"
    )

    units = {english(own.figure): own.unit for own in table.rows}

    assert units["jitter, p95"] == "ms"
    assert units["traffic up, mean"] == units["traffic down, max"] == "kbit/s"
    assert units["CPU of the process, p50"] == units["machine in the kernel, min"] == "%"
    assert {unit for figure, unit in units.items() if figure.endswith("missing rate")} == {"share"}
    assert len(units) == 30


def test_deliveries_a_second_stand_where_the_study_has_them() -> None:
    (table,) = (each for each in study("purbaya-websocket-redis").tables if english(each.title) == "Stress")

    found = [(english(own.figure), own.unit) for own in table.rows]

    place = found.index(("deliveries", "1/s"))
    assert [figure for figure, _ in found[place - 1 : place + 2]] == [
        "over 500 ms, rate",
        "deliveries",
        "errors; lost",
    ]


def test_the_overall_mean_is_there_only_where_the_run_has_the_studys_counts() -> None:
    other = analyse(RunMaker(a_plan(client_counts=(1, 2), blocks=2)).run())

    def overall(analysis: Analysis) -> StudyRow:
        return study("brawijaya-sse-websocket", analysis).tables[0].rows[-1]

    assert english(overall(demo()).figure) == "all counts"
    assert None not in overall(demo()).measured
    assert overall(other).measured == (None, None)


def test_a_run_without_a_trial_has_dashes_and_no_zeros() -> None:
    measured = {
        value
        for each in all_study_tables(nothing())
        for table in each.tables
        for own in table.rows
        for value in own.measured
        if english(own.figure) != "connections"  # as planned
    }

    assert measured == {None}


def test_page_terminal_markdown_and_json_say_the_same() -> None:
    section = next(each for each in document_of(demo()).sections if each.name == "published")
    found = json.loads(json.dumps(result_json(demo()), allow_nan=False))["published"]
    file = io.StringIO()
    print_published(demo(), Console(file=file, width=120))

    assert [each["id"] for each in found] == [each.id for each in all_study_tables(demo())]
    assert found[0]["tables"][0]["rows"][1]["derived"] == [0]
    for said in (file.getvalue(), markdown_of(document_of(demo()), {})):
        assert "459" in said
        assert "0.00126" in said
        assert "cache miss, p95" in said
        assert "920 spikes are 2.75 broadcasts" in " ".join(said.split())
    assert english(section.title) == "Published beside measured"


def test_an_arm_whose_name_looks_like_markup_heads_its_column_as_it_is() -> None:
    plan = replace(a_plan(client_counts=(1,), blocks=1), arms=(Arm("sse", "sse"), Arm("[/x]", "sse")))
    file = io.StringIO()

    print_published(analyse(RunMaker(plan).run()), Console(file=file, width=120))

    assert "[/x]" in file.getvalue()


def test_phones_say_nothing_of_what_they_send() -> None:
    def silent(record: TrialRecord) -> TrialRecord:
        return replace(record, timeline=TrialTimeline(uploads_known=False))

    analysis = analyse(RunMaker(a_plan(client_counts=(1,), blocks=2), alter=silent).run())

    (up,) = [
        each
        for table in study("orangepi-webrtc-websocket", analysis).tables
        for each in table.rows
        if english(each.figure) == "up, zero rate"
    ]
    assert up.measured == (None, None)
