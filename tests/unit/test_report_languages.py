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
from app.core.trial import RunRecord, TrialRecord
from app.i18n import LANGUAGES, REPORT, catalogue, text
from app.lab.analysis.analyse import Analysis, analyse
from app.lab.analysis.descriptive.live import LiveRow
from app.lab.analysis.headline import headline
from app.lab.analysis.validity.checks import OWN_CODES
from app.lab.report.contents.sections import document_of
from app.lab.report.data.result import result_text
from app.lab.report.document import Findings
from app.lab.report.renderers.console.live import live_cells
from app.lab.report.renderers.console.result import print_result
from app.lab.report.renderers.html import html_of
from app.lab.report.translation import known, texts_of, translator
from app.tools.load.invalid_rules import GENERATOR_CODES
from tests.support.records import recorded
from tests.unit.support_run import CLIENT_CLOCK_US, EPOCH_US, RunMaker, a_plan

RUNNER_CODES = {
    *("mixed_paths", "other_coding", "operator_published", "source_failed", "phone_missing"),
    *("server_processes_changed", "cpu_window_late"),
}
"""Codes of warnings that only a runner can give."""

NAMES = {"sse", "socketio", "SSE", "Socket.IO"}
"""What arms and transports are called, in every language."""

indonesian = translator("id")


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


def is_a_name(text: str) -> bool:
    """Names of arms with counts, and the codes of warnings."""
    words = set(re.split(r", | - | ", text))
    return words <= OWN_CODES or all(word in NAMES or word.isdigit() for word in words)


@pytest.mark.parametrize("name", KINDS)
def test_no_sentence_of_a_report_stays_english(name: str) -> None:
    texts = texts_of(document_of(analysed(name)))

    missing = [text for text in texts if not known(text) and not is_a_name(text)]

    assert not missing, "static/i18n/en/report.json and id/report.json lack these"


@pytest.mark.parametrize("name", KINDS)
def test_nothing_on_a_terminal_stays_english(name: str) -> None:
    said: list[str] = []

    class Listener(Console):
        def print(self, *objects: object, **_: object) -> None:
            said.extend(str(each) for each in objects)

    print_result(analysed(name), Listener(file=io.StringIO(), width=100), language="en")

    assert said
    said.remove(text(headline(analysed(name)).sentence, "en"))
    missing = [line.strip() for line in said if not known(line.strip()) and "rich.table" not in line]
    assert not missing


def test_why_arrivals_of_a_live_run_are_not_used_is_said_in_indonesian() -> None:
    left_out = {state.value: 3 for state in SampleState if state is not SampleState.OK}
    row = LiveRow("sse", 1, 30, 9, 1.5, None, 0.5, 0, 0, 0, left_out)

    reasons = live_cells(row)[-1]

    assert reasons.count("; ") == len(left_out) - 1
    assert all(known(each) and indonesian(each) != each for each in reasons.split("; "))
    assert indonesian("2 replayed; 1 without a clock") == "2 putar ulang; 1 tanpa jam"


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


@pytest.mark.parametrize(
    ("english", "said"),
    [
        (
            "SSE faster by 0.120 ms [0.050, 0.210] at 6 clients",
            "SSE lebih cepat 0,120 ms [0,050; 0,210] pada 6 klien",
        ),
        (
            "Socket.IO faster by 3.100 ms [2.900, 3.300] at 1 phone; equivalent within ±5.000 ms",
            "Socket.IO lebih cepat 3,100 ms [2,900; 3,300] pada 1 ponsel; setara dalam ±5,000 ms",
        ),
        (
            "undecided (about 4 more blocks needed) at 3 clients: Socket.IO - SSE = -0.020 ms of jitter [-0.100, 0.060]",
            "belum dapat diputuskan (perlu sekitar 4 blok lagi) pada 3 klien: Socket.IO - SSE = -0,020 ms jitter "
            "[-0,100; 0,060]",
        ),
        (
            "Run r, simulated clients: 1, 3 and 6 clients, 8 blocks each, 20 notifications of 256 bytes per trial, 2.5 a "
            "second.",
            "Percobaan r, klien simulasi: 1, 3 dan 6 klien, masing-masing 8 blok, 20 notifikasi sebesar 256 bita tiap "
            "putaran, 2,5 per detik.",
        ),
        ("< 0.001", "< 0,001"),
        ("0.459 *", "0,459 *"),
        ("-", "-"),
        ("an arm with a name of its own", "an arm with a name of its own"),
    ],
)
def test_a_sentence_is_said_again_with_its_figures(english: str, said: str) -> None:
    assert indonesian(english) == said


def test_figures_of_an_indonesian_report_have_commas_and_recorded_conditions_stay() -> None:
    document = document_of(analysed("trouble"))

    findings = [
        indonesian(each.text)
        for section in document.sections
        for block in section.blocks
        if isinstance(block, Findings)
        for each in block.items
    ]
    assert findings
    assert not [text for text in findings if re.search(r"\d\.\d", text)]
    assert "3.11.7" in html_of(document, "id")


def test_a_report_is_the_same_in_english_and_for_programs_whatever_was_asked() -> None:
    before = result_text(analysed("trouble"))

    html_of(document_of(analysed("trouble")), "id")

    assert result_text(analysed("trouble")) == before


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "Run " + " (, ): ; 1 of 1 delivered, , 1 duplicates, " * 60 + "out of order.", id="headline"
        ),
        pytest.param(
            "Run x" + ", : 1 client, each, of 1 bytes per trial, 1" * 60 + " a second.", id="settings"
        ),
        pytest.param("SSE" + " - SSE = 1 [1" * 200, id="difference"),
        pytest.param("note x (trial " * 200, id="nested"),
        pytest.param("a" + " x a" * 1500, id="deep"),
        pytest.param("a" + " x a" * 100_000, id="long"),
        pytest.param("1" * 7999, id="digits"),
    ],
)
def test_a_stranger_s_text_that_is_nearly_many_sentences_is_soon_given_up(text: str) -> None:
    """Tried in all ways, the first of these takes a minute."""
    found = indonesian(text)

    assert len(found) > 0.5 * len(text)
