"""The result on a terminal or in a log: 80 columns, readable without colour, nothing cut off.

Every figure goes through `words.number` from the same model that `result.json` is written from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.core.trial import RunRecord, Severity
from app.i18n import LANGUAGES
from app.lab.analysis.alternative_methods import single_trial_sentences
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.comparison.compare_arms import Comparison, Verdict
from app.lab.analysis.comparison.sentences import sentence
from app.lab.analysis.descriptive.live import LiveRow
from app.lab.analysis.summary import SummaryRow
from app.lab.analysis.words import METRIC_WORDS, TRANSPORT_TITLES, arm_title, interval, number, states
from app.lab.report.statements import headline, pair_title, verdict_words, warning_lines
from app.lab.report.translation import Translate, translator

SUMMARY_HEADINGS = (
    *("transport", "clients", "n", "median\nms", "p95\nms", "p99\nms", "jitter\nms"),
    *("lost", "dupl.", "CPU us/\nnotif.", "CPU\npoints"),
)
DIFFERENCE_HEADINGS = ("metric", "clients", "difference", "95 % interval", "blocks", "verdict", "equiv.")

_CONTROLS = dict.fromkeys([*range(0x0A), *range(0x0B, 0x20), *range(0x7F, 0xA0)], "?")
"""All but the end of a line, which headings have."""


def plain(text: str) -> Text:
    """Text that does nothing but say: brackets are intervals and no markup, control characters are question marks.

    A run from elsewhere may hold some, on which a terminal would act.
    """
    return Text(text.translate(_CONTROLS))


@dataclass(frozen=True, slots=True)
class Page:
    """A console, and what gives a text in its reader's language."""

    console: Console
    translate: Translate

    def say(self, text: str, *, style: str = "", whole: bool = False) -> None:
        """A text of the report. `whole`: on one line however long, for who searches a log."""
        self.console.print(plain(self.translate(text)), style=style or None, soft_wrap=whole)

    def table(self, headings: Sequence[str], rows: Iterable[Sequence[str]], *, texts: Sequence[int]) -> None:
        """A table without frame, so that 80 columns are enough and a log stays plain."""
        table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim")
        for index, heading in enumerate(headings):
            table.add_column(
                plain(self.translate(heading)),
                justify="left" if index in texts else "right",
                overflow="fold",
                vertical="bottom",
            )
        for row in rows:
            table.add_row(*(plain(self.translate(cell)) for cell in row))
        self.console.print(table)


def print_result(analysis: Analysis, console: Console, *, language: str = LANGUAGES[0]) -> None:
    """Print summary, differences, verdicts and warnings."""
    page = Page(console, translator(language))
    page.say("")
    page.say(headline(analysis), style="bold")
    if analysis.verdicts and all(each.verdict is Verdict.INVALID for each in analysis.verdicts):
        page.say(
            "No verdict: too many blocks are void. Below is why, and what to do before it is run again.",
            style="yellow",
        )
    page.table(_headings(SUMMARY_HEADINGS, analysis), map(summary_cells, analysis.summary), texts=(0,))
    page.say("Pooled over valid blocks, to describe; p95 needs 100 notifications, p99 500 (-).")
    page.say("CPU: over idle; per delivered notification, and in percent of the machine.")
    _print_split(page, analysis)
    for pair in _pairs(analysis.comparisons):
        page.say("")
        page.say(pair_title(pair[0]), style="bold")
        page.table(_headings(DIFFERENCE_HEADINGS, analysis), map(difference_cells, pair), texts=(0, 5, 6))
    if analysis.comparisons:
        page.say("Verdict: by the interval at its Holm level. equiv.: 90 % interval within the margin.")
    page.say("")
    for comparison in analysis.verdicts:
        said = sentence(comparison, noun=analysis.noun)
        page.say(said, style="bold", whole=not console.is_terminal)
    for once in single_trial_sentences(analysis):
        page.say(once)
    _print_warnings(page, analysis)


SPLIT_HEADINGS = (
    *("transport", "clients", "source\nms", "server\nms", "network\nms", "client\nms", "spread\nms"),
    *("IP bytes/\nnotif.", "segments/\nnotif.", "sent\nagain"),
)


def _print_split(page: Page, analysis: Analysis) -> None:
    """Where the delays were spent, if that was recorded."""
    if all(row.split is None for row in analysis.summary):
        return
    page.say("")
    page.say("Where the delay was spent, median of the trials' medians", style="bold")
    page.table(SPLIT_HEADINGS, map(split_cells, analysis.summary), texts=(0,))
    page.say(
        "Source: due to sent. Server: to the send() of it. Network: to the client's kernel. Client: read."
    )
    page.say("Spread: from the first client's send() to the last's. Medians need not add up to the delay's.")


LIVE_HEADINGS = (
    *("transport", "phones", "n", "used", "median\nms", "p95\nms", "bound\nms", "late", "replayed", "dupl."),
    "left out",
)


def print_live(
    run: RunRecord, rows: Sequence[LiveRow], console: Console, *, language: str = LANGUAGES[0]
) -> None:
    """Print what phones posted to a live run, which is no experiment."""
    page = Page(console, translator(language))
    page.say("")
    arrivals = sum(row.arrivals for row in rows)
    page.say(f"Live run {run.id}: {arrivals} arrivals posted by phones.", style="bold")
    if not rows:
        page.say("Open the page of a running server on a phone, press Start, and publish something.")
        return
    page.table(LIVE_HEADINGS, map(live_cells, rows), texts=(0, 10))
    page.say(
        "Delays count from when a notification was due; bound: the largest clock error of any that was used."
    )
    page.say("This describes; it decides nothing: transports were not run in blocks. `siar demo` does that.")


def live_cells(row: LiveRow) -> tuple[str, ...]:
    """A row of the table of a live run."""
    return (
        TRANSPORT_TITLES.get(row.transport, row.transport),
        *(str(count) for count in (row.devices, row.arrivals, row.used)),
        *(number(value) for value in (row.delay_ms_p50, row.delay_ms_p95, row.clock_bound_ms)),
        *(str(count) for count in (row.late, row.replayed, row.duplicates)),
        "; ".join(states(dict(sorted(row.left_out.items())))) or "-",
    )


def summary_cells(row: SummaryRow) -> tuple[str, ...]:
    """A row of the first table, by `SUMMARY_HEADINGS`."""
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
    """A row of the table of parts, by `SPLIT_HEADINGS`."""
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


def difference_cells(comparison: Comparison) -> tuple[str, ...]:
    """A row of the second table, by `DIFFERENCE_HEADINGS`."""
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
        page.say(seen, style="yellow" if group.severity is Severity.VOID else "")
        page.say(f"     {page.translate(advice)}")


def _headings(headings: Sequence[str], analysis: Analysis) -> list[str]:
    """Headings that call phones phones."""
    return [f"{analysis.noun}s" if each == "clients" else each for each in headings]


def _pairs(comparisons: Sequence[Comparison]) -> list[list[Comparison]]:
    """Comparisons by their second arm, order kept."""
    pairs: dict[str, list[Comparison]] = {}
    for each in comparisons:
        pairs.setdefault(each.b.name, []).append(each)
    return list(pairs.values())
