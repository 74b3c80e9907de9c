"""A report in Indonesian says all that the English one says, in its words and with its decimal commas."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
from rich.console import Console

from app.core.delivery import SampleState
from app.core.lifecycle import LifecycleReport
from app.core.plan.scenario import plan_to_json
from app.core.trial import RunRecord, TrialRecord
from app.i18n import LANGUAGES, REPORT, catalogue, speaker, text
from app.lab.analysis.analyse import Analysis, analyse
from app.lab.analysis.descriptive.live import LiveRow
from app.lab.analysis.validity.checks import OWN_CODES
from app.lab.report.contents.comparison import comparison_document
from app.lab.report.contents.sections import document_of
from app.lab.report.data.result import result_text
from app.lab.report.document import Findings
from app.lab.report.renderers.console.document import print_document
from app.lab.report.renderers.console.live import print_live
from app.lab.report.renderers.console.page import Page
from app.lab.report.renderers.console.published import print_published
from app.lab.report.renderers.console.result import print_details, print_first_screen
from app.lab.report.renderers.html import html_of
from app.tools.load.invalid_rules import GENERATOR_CODES
from tests.support.marked import words_of_no_catalogue
from tests.support.records import recorded
from tests.unit.support_run import CLIENT_CLOCK_US, EPOCH_US, RunMaker, a_plan

RUNNER_CODES = {
    *("mixed_paths", "other_coding", "operator_published", "source_failed", "phone_missing"),
    *("server_processes_changed", "cpu_window_late"),
}
"""Codes of warnings that only a runner can give."""

NAMES = {
    *("sse", "socketio", "SSE", "Socket", "WebRTC", "WebSocket", "uWebSockets", "RFC", "psutil", "Cliff"),
    *("kbit", "KiB", "MiB", "simulated", "other"),
}
"""Words that are the same in every language: transports, standards, units."""


def with_trouble(record: TrialRecord) -> TrialRecord:
    """Some trials void, some noted, one without any delivery."""
    if record.spec.index == 4:
        return replace(record, disconnects=1)
    if record.spec.index == 5:
        return replace(record, deliveries=(), disturbances=2)
    return record


def with_phones(run: RunRecord) -> RunRecord:
    participants = [{"client": 0, "pseudonym": "P1", "secure_context": True, "wake_lock": False}]

    def attended(record: TrialRecord) -> TrialRecord:
        if record.spec.idle:
            return record
        count = len(record.deliveries)
        ahead_us = EPOCH_US - CLIENT_CLOCK_US + 2_000_000
        conduct = LifecycleReport(0, expected_count=count, received_count=count, wall_ahead_us=ahead_us)
        return replace(record, participants=(0,), lifecycle_reports=(conduct,))

    return replace(
        run,
        simulated=False,
        conditions={**run.conditions, "participants": participants},
        trials=tuple(map(attended, run.trials)),
    )


SMALL = a_plan(client_counts=(1, 2, 3), notifications=6)

RUNS: dict[str, Callable[[], RunRecord]] = {
    "decided": lambda: RunMaker(SMALL, alter=recorded).run(),
    "trouble": lambda: RunMaker(replace(SMALL, blocks=3), alter=with_trouble).run(),
    "all void": lambda: RunMaker(SMALL, alter=lambda record: replace(record, disconnects=1)).run(),
    "a/a": lambda: RunMaker(a_plan(arms=("sse", "sse"), client_counts=(1,), notifications=6)).run(),
    "one arm": lambda: RunMaker(
        a_plan(arms=("socketio",), client_counts=(60,), blocks=1, notifications=3)
    ).run(),
    "stopped at once": lambda: RunMaker(SMALL).run(complete=False, blocks_done=0),
    "phones": lambda: with_phones(
        RunMaker(a_plan(client_counts=(1,), notifications=6, environment="lan")).run()
    ),
}


KINDS = [pytest.param(name, marks=() if name in ("trouble", "phones") else pytest.mark.slow) for name in RUNS]
"""Two of them say nearly all that there is to say."""


@cache
def analysed(name: str) -> Analysis:
    return analyse(RUNS[name]())


def recorded_in(analysis: Analysis) -> list[object]:
    """Recorded texts of a run, which are shown unchanged in every language."""
    run = analysis.run
    return [run.id, run.started, run.conditions, plan_to_json(run.plan), analysis.plan_sha256]


@pytest.mark.parametrize("name", KINDS)
def test_every_text_of_a_report_is_from_the_catalogue(name: str, marked: str) -> None:
    analysis = analysed(name)

    page = html_of(document_of(analysis), marked)

    assert not words_of_no_catalogue(page, recorded_in(analysis))


@pytest.mark.parametrize("name", KINDS)
def test_every_text_on_a_terminal_is_from_the_catalogue(name: str, marked: str) -> None:
    analysis, file = analysed(name), io.StringIO()
    console = Console(file=file, width=200)

    print_first_screen(analysis, console, language=marked)
    print_details(analysis, console, language=marked)
    print_published(analysis, console, language=marked)

    assert not words_of_no_catalogue(file.getvalue(), recorded_in(analysis))


@pytest.mark.parametrize("changed", [{"complete": False}, {"simulated": False}])
def test_every_text_of_a_comparison_is_from_the_catalogue(changed: dict[str, bool], marked: str) -> None:
    """Runs that may be compared, with a regression and a run without figures, and runs that may not."""
    analysis, file = analysed("decided"), io.StringIO()
    worse = analyse(replace(slow(), id="other", conditions={**slow().conditions, "governor": "powersave"}))
    empty = replace(analysis, run=replace(analysis.run, id="empty", **changed), trials=())  # type: ignore[arg-type]

    document = comparison_document([analysis, worse, empty])
    print_document(document, Page(Console(file=file, width=200), speaker(marked)))
    shown = file.getvalue() + html_of(document, marked)

    names = "other empty plan simulated complete governor powersave"
    assert not words_of_no_catalogue(shown, recorded_in(analysis), names)


@cache
def slow() -> RunRecord:
    return RunMaker(
        replace(SMALL, blocks=10), alter=recorded, delay_ms=lambda arm, clients, client: 9.0
    ).run()


def test_every_text_of_a_live_run_is_from_the_catalogue(marked: str) -> None:
    left_out = {state.value: 3 for state in SampleState if state is not SampleState.OK}
    row = LiveRow("sse", 1, 30, 9, 1.5, None, 0.5, 0, 0, 0, left_out)
    analysis, file = analysed("trouble"), io.StringIO()

    print_live(analysis.run, [row], Console(file=file, width=200), language=marked)

    assert file.getvalue().count("3 ¤") >= len(left_out)
    assert not words_of_no_catalogue(file.getvalue(), recorded_in(analysis))


@pytest.mark.parametrize("code", sorted(OWN_CODES | RUNNER_CODES | GENERATOR_CODES))
def test_every_warning_has_its_sentences_in_each_language(code: str) -> None:
    for language in LANGUAGES:
        words = catalogue(language, REPORT)
        assert {f"warning.{code}", f"advice.{code}"} <= set(words)


def test_sentences_of_warnings_have_the_same_places_in_each_language() -> None:
    english, indonesian = (catalogue(language, REPORT) for language in LANGUAGES)

    for key in (each for each in english if each.startswith(("warning.", "advice."))):
        assert places_of(english[key]) == places_of(indonesian[key]), key


def places_of(text: str) -> set[str]:
    return set(re.findall(r"\{[^}]*\}", text))


def test_figures_of_an_indonesian_report_have_commas_and_recorded_conditions_stay() -> None:
    document = document_of(analysed("trouble"))

    findings = [
        text(each.text, "id")
        for section in document.sections
        for block in section.blocks
        if isinstance(block, Findings)
        for each in block.items
    ]
    assert findings
    assert not [each for each in findings if re.search(r"\d\.\d", each)]
    assert "3.11.7" in html_of(document, "id")


def test_a_report_is_the_same_in_english_and_for_programs_whatever_was_asked() -> None:
    before = result_text(analysed("trouble"))

    html_of(document_of(analysed("trouble")), "id")

    assert result_text(analysed("trouble")) == before
