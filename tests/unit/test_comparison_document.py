"""The comparison of runs as a document: its answer, names of runs, figures, and what is left out of it."""

from dataclasses import replace
from functools import cache
from io import StringIO

import pytest
from rich.console import Console

from app.core.plan.scenario import Plan
from app.i18n import speaker, text
from app.lab.analysis.analyse import Analysis, analyse
from app.lab.analysis.compare_runs import Change, RunShift
from app.lab.analysis.runs_headline import runs_headline
from app.lab.analysis.statistics.interval import Interval
from app.lab.analysis.words import moment
from app.lab.report.contents.comparison import comparison_document
from app.lab.report.document import Document, Figure, figures_of
from app.lab.report.renderers.console.document import print_document
from app.lab.report.renderers.console.page import Page
from app.lab.report.renderers.html import html_of
from tests.unit.support_run import RunMaker, a_plan

PLAN = a_plan(client_counts=(1, 3), blocks=10, notifications=12)
SSE, SOCKETIO = PLAN.arms

BASE, SAME, WORSE = "2026-11-25T03-32-10-aaaa", "2026-11-26T03-33-11-bbbb", "2026-11-27T03-34-12-cccc"


@cache
def a_run(name: str, *, slower: float = 1.0, plan: Plan = PLAN) -> Analysis:
    """Analyse a run of two arms; `slower`: the factor of Socket.IO's delays."""
    maker = RunMaker(
        plan,
        delay_ms=lambda arm, clients, client: 0.6 * (slower if arm.transport == "socketio" else 1.0),
        seed=len(name) + int(name[8:10]),
    )
    started = f"{name[:10]}T{name[11:19].replace('-', ':')}Z"
    return analyse(replace(maker.run(), id=name, started=started))


def base() -> Analysis:
    return a_run(BASE)


def same() -> Analysis:
    return a_run(SAME)


def worse() -> Analysis:
    return a_run(WORSE, slower=1.6)


def printed(document: Document, language: str = "en") -> str:
    file = StringIO()
    print_document(document, Page(Console(file=file, width=100), speaker(language)))
    return file.getvalue()


def first_line(document: Document, language: str) -> str:
    assert isinstance(document.opening, tuple)
    return text(document.opening[0].text, language)


def title(figure: Figure) -> str:
    return text(figure.title, "en")


def a_row(
    metric: str = "delay_ms_p50", shift: float = 0.5, change: Change = Change.UNDECIDED, **other: object
) -> RunShift:
    """A row from 1 to 1 + `shift`, with an interval of 0.1 around the shift."""
    row = RunShift(
        metric=metric,
        arm=SSE,
        less=None,
        clients=3,
        run="b",
        base_trials=8,
        trials=8,
        base_median=1.0,
        median=1.0 + shift,
        estimate=shift,
        interval=Interval(shift - 0.1, shift + 0.1, 0.95),
        holm_interval=Interval(shift - 0.2, shift + 0.2, 0.99),
        p=0.01,
        p_holm=0.04,
        margin=0.1,
        equivalent=False,
        effect=None,
        change=change,
    )
    return replace(row, **other)  # type: ignore[arg-type]


EQUAL = a_row(shift=0.0, equivalent=True)
UP, DOWN = a_row(change=Change.WORSE), a_row(shift=-0.5, change=Change.BETTER)

HEADLINES: dict[str, tuple[list[RunShift], str, str]] = {
    "nothing in common": (
        [],
        "Nothing was compared: the runs have no figure in common.",
        "Tidak ada yang dibandingkan: run-run ini tidak punya angka yang sama.",
    ),
    "only a difference between arms": (
        [a_row(change=Change.WORSE, arm=SOCKETIO, less=SSE)],
        "Nothing was compared: the runs have no figure in common.",
        "Tidak ada yang dibandingkan: run-run ini tidak punya angka yang sama.",
    ),
    "worse": (
        [EQUAL, UP],
        "Worse in 1 of 2 figures: median delay of SSE with 3 clients rose from 1.00 to 1.50 ms "
        "(by 0.40 to 0.60 ms, 95 % interval).",
        "Lebih buruk pada 1 dari 2 angka: median tundaan SSE pada 3 klien naik dari 1,00 menjadi 1,50 ms "
        "(selisih 0,40 sampai 0,60 ms, selang 95%).",
    ),
    "delay is named before a larger change of CPU": (
        [a_row("cpu_per_delivery_us", 900.0, Change.WORSE), UP],
        "Worse in 2 of 2 figures: median delay of SSE with 3 clients rose from 1.00 to 1.50 ms "
        "(by 0.40 to 0.60 ms, 95 % interval).",
        "Lebih buruk pada 2 dari 2 angka: median tundaan SSE pada 3 klien naik dari 1,00 menjadi 1,50 ms "
        "(selisih 0,40 sampai 0,60 ms, selang 95%).",
    ),
    "of one metric the largest change in proportion is named": (
        [
            a_row("cpu_per_delivery_us", 90.0, Change.WORSE, base_median=100.0, median=190.0),
            a_row(
                "cpu_per_delivery_us",
                60.0,
                Change.WORSE,
                base_median=20.0,
                median=80.0,
                arm=SOCKETIO,
                clients=1,
                interval=Interval(50.0, 1070.4, 0.95),
            ),
        ],
        "Worse in 2 of 2 figures: server CPU per notification of Socket.IO with 1 client rose from 20.0 to 80.0 us "
        "(by 50 to 1,070 us, 95 % interval).",
        "Lebih buruk pada 2 dari 2 angka: CPU server per notifikasi Socket.IO pada 1 klien naik dari 20,0 menjadi "
        "80,0 us (selisih 50 sampai 1.070 us, selang 95%).",
    ),
    "worse by less than the margin is equivalent": (
        [replace(UP, equivalent=True), a_row()],
        "Nothing got worse in 2 figures: 1 equivalent and 1 not decided.",
        "Tidak ada yang memburuk dari 2 angka: 1 setara dan 1 belum dapat diputuskan.",
    ),
    "better": (
        [DOWN, a_row()],
        "Better in 1 of 2 figures, worse in none: median delay of SSE with 3 clients fell from 1.00 to 0.500 ms "
        "(by 0.40 to 0.60 ms, 95 % interval).",
        "Lebih baik pada 1 dari 2 angka, tidak ada yang lebih buruk: median tundaan SSE pada 3 klien turun dari 1,00 "
        "menjadi 0,500 ms (selisih 0,40 sampai 0,60 ms, selang 95%).",
    ),
    "worse is said before better": (
        [DOWN, a_row("jitter_ms", 0.5, Change.WORSE)],
        "Worse in 1 of 2 figures: jitter of SSE with 3 clients rose from 1.00 to 1.50 ms "
        "(by 0.40 to 0.60 ms, 95 % interval).",
        "Lebih buruk pada 1 dari 2 angka: jitter SSE pada 3 klien naik dari 1,00 menjadi 1,50 ms "
        "(selisih 0,40 sampai 0,60 ms, selang 95%).",
    ),
    "one figure": (
        [EQUAL],
        "Nothing got worse in 1 figure: 1 equivalent.",
        "Tidak ada yang memburuk dari 1 angka: 1 setara.",
    ),
}


@pytest.mark.parametrize(("rows", "english", "indonesian"), HEADLINES.values(), ids=HEADLINES)
def test_the_headline_says_what_changed(rows: list[RunShift], english: str, indonesian: str) -> None:
    found = runs_headline(rows, {"b": "Later"}, "client")

    assert text(found, "en") == english
    assert text(found, "id") == indonesian


def test_the_headline_names_the_run_and_the_phones() -> None:
    found = runs_headline([a_row(), replace(UP, run="c")], {"b": "Tuesday", "c": "Wednesday"}, "phone")

    assert text(found, "en").endswith(
        "with 3 phones rose from 1.00 to 1.50 ms (by 0.40 to 0.60 ms, 95 % interval) in the run Wednesday."
    )


@pytest.mark.parametrize(
    ("started", "english", "indonesian"),
    [
        ("2026-11-25T03:32:10Z", "25 Nov 2026, 03:32 UTC", "25 Nov 2026, 03:32 UTC"),
        ("2026-05-01T00:10:00+07:00", "30 Apr 2026, 17:10 UTC", "30 Apr 2026, 17:10 UTC"),
        ("2026-08-09T10:11:12.5Z", "9 Aug 2026, 10:11 UTC", "9 Agu 2026, 10:11 UTC"),
        ("some day", "some day", "some day"),
        ("0001-01-01T00:00:00+23:00", "0001-01-01T00:00:00+23:00", "0001-01-01T00:00:00+23:00"),
    ],
)
def test_a_moment_is_a_date_and_a_time_in_utc(started: str, english: str, indonesian: str) -> None:
    assert text(moment(started), "en") == english
    assert text(moment(started), "id") == indonesian


def test_runs_are_named_by_date_and_plan_and_their_ids_are_in_the_table_of_runs() -> None:
    document = comparison_document([base(), worse()])

    names = "25 Nov 2026, 03:32 UTC · demo", "27 Nov 2026, 03:34 UTC · demo"
    assert first_line(document, "en") == f"First run: {names[0]}. Compared with it: {names[1]}."
    assert f"{names[0]} {BASE} simulated complete" in printed(document)
    assert printed(document).count(BASE) == 2, "in the table and in the command"


def test_runs_of_one_minute_and_plan_have_their_ids_in_their_names() -> None:
    twin = replace(base(), run=replace(base().run, id="twin"))

    said = [first_line(comparison_document([base(), twin, worse()]), language) for language in ("en", "id")]

    for each in said:
        assert f"25 Nov 2026, 03:32 UTC · demo ({BASE})" in each
        assert "25 Nov 2026, 03:32 UTC · demo (twin); 27 Nov 2026, 03:34 UTC · demo." in each


def test_the_page_has_answer_regressions_figures_settings_and_runs_in_this_order() -> None:
    shown = printed(comparison_document([base(), worse()]))

    parts = (
        "Worse in ",
        "First run: ",
        "Regression: ",
        "Delay, median",
        "Jitter",
        "Settings that differ",
        "Runs",
    )
    places = [shown.index(f"\n{each}" if places else each) for places, each in enumerate(parts)]
    assert places == sorted(places)
    assert "Regression: delay of Socket.IO at 3 clients higher by" in shown
    assert "in 27 Nov 2026, 03:34 UTC · demo." in shown


def test_each_metric_has_a_figure_with_a_row_per_arm_and_count_and_all_numbers() -> None:
    figures = [each.figure for each in figures_of(comparison_document([base(), worse()]))]

    assert [title(each) for each in figures] == [
        "Delay, median of clients' medians, ms",
        "Jitter (RFC 3550), ms",
        "Server CPU per delivered notification, us",
    ], "what did not change comes last"
    picture = figures[0].drawings[0].picture
    assert [text(each, "en") for each in picture.panel.y.ticks().values()] == [
        *("Socket.IO, 3 clients", "Socket.IO, 1 client", "SSE, 3 clients", "SSE, 1 client")
    ]
    svg = picture.svg(speaker("en"))
    assert svg.count('class="estimate"') == svg.count('class="s0 mark"') == 4
    assert len([each for each in svg.split("<text") if "worse by " in each]) == 2
    assert [row[0] for row in figures[0].table.rows] == [
        *("SSE", "SSE", "Socket.IO", "Socket.IO", "Socket.IO - SSE", "Socket.IO - SSE")
    ]


def test_figures_with_a_change_come_first() -> None:
    """Only CPU changes: the delay of both runs is the same."""
    maker = RunMaker(
        PLAN, delay_ms=lambda arm, clients, client: 0.6, cpu_us=lambda arm, clients: 400.0, seed=5
    )
    costly = analyse(replace(maker.run(), id=WORSE))

    titles = [title(each.figure) for each in figures_of(comparison_document([base(), costly]))]

    assert titles[0].startswith("Server CPU")


def test_several_later_runs_have_a_heading_and_figures_each() -> None:
    document = comparison_document([base(), same(), worse()])

    names = [each.picture.name for drawn in figures_of(document) for each in drawn.figure.drawings]
    assert len(set(names)) == len(names) == 6
    shown = printed(document)
    assert shown.index("\n26 Nov 2026, 03:33 UTC · demo\n") < shown.index("\n27 Nov 2026, 03:34 UTC · demo\n")
    assert "in the run 27 Nov 2026, 03:34" in " ".join(text(document.title, "en").split())


def test_a_later_run_without_a_common_figure_says_so() -> None:
    empty = replace(same(), trials=())

    assert "It has no figure in common with the first run." in printed(
        comparison_document([base(), empty, worse()])
    )
    assert printed(comparison_document([base(), empty])).startswith("Nothing was compared")


def test_figures_of_runs_that_are_not_comparable_are_shown_only_on_request() -> None:
    other = replace(same(), run=replace(same().run, simulated=False))

    refused, anyway = (comparison_document([base(), other], anyway=anyway) for anyway in (False, True))

    for each in (refused, anyway):
        assert text(each.title, "en") == "The runs are not comparable."
        assert "Not comparable: simulated: yes against no (built-in clients have no radio" in printed(each)
    assert figures_of(refused) == []
    assert "Nothing got worse in 12 figures" in printed(anyway)
    assert len(figures_of(anyway)) == 3


def test_a_name_of_a_foreign_run_is_text_on_the_page() -> None:
    foreign = replace(
        same(), run=replace(same().run, started="<b>", id="<i>", plan=replace(PLAN, profile="<u>"))
    )

    page = html_of(comparison_document([base(), foreign, worse()]))

    assert "&lt;b&gt; · &lt;u&gt;" in page
    assert not [each for each in ("<b>", "<i>", "<u>") if each in page]
