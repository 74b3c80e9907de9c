"""The result of a run on a terminal: headline, summary, differences, verdicts, and warnings.

Figures come from the same model as `result.json` and are formatted by `words.number`.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from app.core.messages import Message, Text
from app.core.trial import Severity
from app.i18n import LANGUAGES
from app.lab.analysis.alternative_methods import single_trial_sentences
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.comparison.compare_arms import Comparison
from app.lab.analysis.comparison.sentences import sentence
from app.lab.analysis.headline import headline
from app.lab.analysis.summary import SummaryRow
from app.lab.analysis.words import METRIC_WORDS, arm_title, interval, number
from app.lab.report.renderers.console.page import Page
from app.lab.report.statements import counts_sentence, pair_title, verdict_words, warning_lines
from app.lab.report.translation import translator

SUMMARY_HEADINGS = (
    *("transport", "clients", "n", "median\nms", "p95\nms", "p99\nms", "jitter\nms"),
    *("lost", "dupl.", "CPU us/\nnotif.", "CPU\npoints"),
)
DIFFERENCE_HEADINGS = ("metric", "clients", "difference", "95 % interval", "blocks", "verdict", "equiv.")


def print_result(analysis: Analysis, console: Console, *, language: str = LANGUAGES[0]) -> None:
    """Print headline, summary, differences, verdicts and warnings."""
    page = Page(console, translator(language))
    page.say("")
    page.say(headline(analysis).sentence, style="bold")
    page.say("")
    page.say(counts_sentence(analysis))
    page.table(_headings(SUMMARY_HEADINGS, analysis), map(summary_cells, analysis.summary), texts=(0,))
    page.say(Message("terminal.pooled"))
    page.say(Message("terminal.cpu"))
    _print_split(page, analysis)
    for pair in _pairs(analysis.comparisons):
        page.say("")
        page.say(pair_title(pair[0]), style="bold")
        page.table(_headings(DIFFERENCE_HEADINGS, analysis), map(difference_cells, pair), texts=(0, 5, 6))
    if analysis.comparisons:
        page.say(Message("terminal.verdict"))
    page.say("")
    for comparison in analysis.verdicts:
        verdict = sentence(comparison, noun=analysis.noun)
        page.say(verdict, style="bold", one_line=not console.is_terminal)
    for once in single_trial_sentences(analysis):
        page.say(once)
    _print_warnings(page, analysis)


SPLIT_HEADINGS = (
    *("transport", "clients", "source\nms", "server\nms", "network\nms", "client\nms", "spread\nms"),
    *("IP bytes/\nnotif.", "segments/\nnotif.", "sent\nagain"),
)


def _print_split(page: Page, analysis: Analysis) -> None:
    """Print the parts of the delay, if they were recorded."""
    if all(row.split is None for row in analysis.summary):
        return
    page.say("")
    page.say(Message("terminal.split"), style="bold")
    page.table(SPLIT_HEADINGS, map(split_cells, analysis.summary), texts=(0,))
    page.say(Message("terminal.split.parts"))
    page.say(Message("terminal.split.spread"))


def summary_cells(row: SummaryRow) -> tuple[str, ...]:
    """Return a row of the summary, by `SUMMARY_HEADINGS`."""
    return (
        arm_title(row.arm),
        str(row.clients),
        str(row.samples),
        number(row.delay_ms_p50),
        number(row.delay_ms_p95),
        number(row.delay_ms_p99),
        number(row.jitter_ms),
        str(row.lost),
        str(row.duplicates),
        number(row.cpu_per_delivery_us),
        number(row.delta_points),
    )


def split_cells(row: SummaryRow) -> tuple[str, ...]:
    """Return a row of the parts of the delay, by `SPLIT_HEADINGS`."""
    parts = row.split
    if parts is None:
        return (arm_title(row.arm), str(row.clients), *("-" for _ in SPLIT_HEADINGS[2:]))
    return (
        *(arm_title(row.arm), str(row.clients)),
        *(number(parts.source_ms_p50), number(parts.server_ms_p50), number(parts.network_ms_p50)),
        *(number(parts.client_ms_p50), number(parts.spread_ms_p50)),
        *(number(parts.wire_bytes_per_notification), number(parts.segments_per_notification)),
        str(parts.retransmissions),
    )


def difference_cells(comparison: Comparison) -> tuple[Text, ...]:
    """Return a row of the differences, by `DIFFERENCE_HEADINGS`."""
    words = METRIC_WORDS[comparison.metric]
    return (
        f"{words.short} {words.unit}",
        str(comparison.clients),
        number(comparison.estimate),
        interval(comparison.interval.low, comparison.interval.high),
        str(comparison.blocks),
        verdict_words(comparison),
        "yes" if comparison.equivalent else "no",
    )


def _print_warnings(page: Page, analysis: Analysis) -> None:
    if analysis.warnings:
        page.say("")
    for group in analysis.warnings:
        seen, advice = warning_lines(group)
        page.say(seen, style="yellow" if group.first.severity is Severity.VOID else "")
        page.say(f"     {page.translate(advice)}")


def _headings(headings: Sequence[str], analysis: Analysis) -> list[str]:
    """Return the headings with "clients" replaced by "phones" in a run of phones."""
    return [f"{analysis.noun}s" if each == "clients" else each for each in headings]


def _pairs(comparisons: Sequence[Comparison]) -> list[list[Comparison]]:
    """Group comparisons by their second arm, in their order."""
    pairs: dict[str, list[Comparison]] = {}
    for each in comparisons:
        pairs.setdefault(each.b.name, []).append(each)
    return list(pairs.values())
