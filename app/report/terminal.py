"""The result on a terminal or in a log: 80 columns, readable without colour, nothing cut off.

Every figure goes through `words.number` from the same model that `result.json` is written from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.analysis.analyse import Analysis, WarningGroup
from app.analysis.beside import once_sentences
from app.analysis.comparison import Comparison, Verdict
from app.analysis.live import LiveRow
from app.analysis.sentences import sentence
from app.analysis.summary import SummaryRow
from app.analysis.words import METRIC_WORDS, arm_title, count_of, interval, listing, number
from app.core.trial import RunRecord, Severity

SUMMARY_HEADINGS = (
    *("transport", "clients", "n", "median\nms", "p95\nms", "p99\nms", "jitter\nms"),
    *("lost", "dupl.", "CPU us/\nnotif.", "CPU\npoints"),
)
DIFFERENCE_HEADINGS = ("metric", "clients", "difference", "95 % interval", "blocks", "verdict", "equiv.")

TRIALS_NAMED_MAX = 8
"""More indexes of trials than this do not help on a terminal; `result.json` has them all."""


def print_result(analysis: Analysis, console: Console) -> None:
    """Print summary, differences, verdicts and warnings."""
    _say(console, "")
    _say(console, headline(analysis), style="bold")
    console.print(
        _table(_headings(SUMMARY_HEADINGS, analysis), map(summary_cells, analysis.summary), texts=(0,))
    )
    _say(console, "Pooled over valid blocks, to describe; p95 needs 100 notifications, p99 500 (-).")
    _say(console, "CPU: over idle; per delivered notification, and in percent of the machine.")
    _print_split(console, analysis)
    for pair in _pairs(analysis.comparisons):
        _say(console, "")
        _say(console, pair_title(pair[0]), style="bold")
        headings = _headings(DIFFERENCE_HEADINGS, analysis)
        console.print(_table(headings, map(difference_cells, pair), texts=(0, 5, 6)))
    if analysis.comparisons:
        _say(console, "Verdict: by the interval at its Holm level. equiv.: 90 % interval within the margin.")
    _say(console, "")
    for comparison in analysis.verdicts:
        said = sentence(comparison, noun=analysis.noun)
        _say(console, said, style="bold", whole=not console.is_terminal)
    for once in once_sentences(analysis):
        _say(console, once)
    _print_warnings(console, analysis.warnings)


SPLIT_HEADINGS = (
    *("transport", "clients", "source\nms", "server\nms", "network\nms", "client\nms", "spread\nms"),
    *("IP bytes/\nnotif.", "segments/\nnotif.", "sent\nagain"),
)


def _print_split(console: Console, analysis: Analysis) -> None:
    """Where the delays were spent, if that was recorded."""
    if all(row.split is None for row in analysis.summary):
        return
    _say(console, "")
    _say(console, "Where the delay was spent, median of the trials' medians", style="bold")
    console.print(_table(SPLIT_HEADINGS, map(split_cells, analysis.summary), texts=(0,)))
    _say(
        console,
        "Source: due to sent. Server: to the send() of it. Network: to the client's kernel. Client: read.",
    )
    _say(
        console,
        "Spread: from the first client's send() to the last's. Medians need not add up to the delay's.",
    )


LIVE_HEADINGS = (
    *("transport", "phones", "n", "used", "median\nms", "p95\nms", "bound\nms", "late", "replayed", "dupl."),
    "left out",
)


def print_live(run: RunRecord, rows: Sequence[LiveRow], console: Console) -> None:
    """Print what phones posted to a live run, which is no experiment."""
    _say(console, "")
    arrivals = sum(row.arrivals for row in rows)
    _say(console, f"Live run {run.id}: {arrivals} arrivals posted by phones.", style="bold")
    if not rows:
        _say(console, "Open the page of a running server on a phone, press Start, and publish something.")
        return
    console.print(_table(LIVE_HEADINGS, map(live_cells, rows), texts=(0, 10)))
    _say(
        console,
        "Delays count from when a notification was due; bound: the largest clock error of any that was used.",
    )
    _say(
        console,
        "This describes; it decides nothing: transports were not run in blocks. `siar demo` does that.",
    )


def live_cells(row: LiveRow) -> tuple[str, ...]:
    """A row of the table of a live run."""
    return (
        {"sse": "SSE", "socketio": "Socket.IO"}.get(row.transport, row.transport),
        *(str(count) for count in (row.devices, row.arrivals, row.used)),
        *(number(value) for value in (row.delay_ms_p50, row.delay_ms_p95, row.clock_bound_ms)),
        *(str(count) for count in (row.late, row.replayed, row.duplicates)),
        listing([f"{count} {state}" for state, count in sorted(row.left_out.items())])
        if row.left_out
        else "-",
    )


def headline(analysis: Analysis) -> str:
    """What became of every notification, void trials included."""
    totals, run = analysis.totals, analysis.run
    state = "complete" if run.complete else "INCOMPLETE"
    lost = f"{totals.lost} lost" + (
        f" ({totals.lost_in_void} of them in void trials)" if totals.lost_in_void else ""
    )
    void = f", {totals.void} of them void" if totals.void else ""
    return (
        f"Run {run.id} ({state}, {who(analysis)}): {count_of(totals.trials, 'trial')}{void}; "
        f"{totals.delivered} of {totals.expected} delivered, {lost}, "
        f"{totals.duplicates} duplicates, {totals.out_of_order} out of order."
    )


def who(analysis: Analysis) -> str:
    """What received: phones with their number, or clients."""
    kind = "simulated" if analysis.run.simulated else "real"
    if not analysis.phones:
        return f"{kind} clients"
    kind = "simulated phone" if analysis.run.simulated else "phone"
    return count_of(len(analysis.phones), kind)


def pair_title(comparison: Comparison) -> str:
    """Which arms are compared, and how."""
    return f"{arm_title(comparison.b)} minus {arm_title(comparison.a)}, paired by block"


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


def verdict_words(comparison: Comparison) -> str:
    """The verdict's code with the arm's name in it."""
    lower = {Verdict.LOWER_A: comparison.a, Verdict.LOWER_B: comparison.b}.get(comparison.verdict)
    return f"{arm_title(lower)} lower" if lower else comparison.verdict.value


def warning_lines(group: WarningGroup) -> tuple[str, str]:
    """A group of warnings in two lines: what was seen and where, and what to do."""
    word = "VOID" if group.severity is Severity.VOID else "note"
    named = [str(trial) for trial in group.trials[:TRIALS_NAMED_MAX]]
    rest = len(group.trials) - len(named)
    where = listing([*named, f"{rest} more"]) if rest else listing(named)
    if len(group.trials) == 1:
        return f"{word} {group.code} (trial {where}): {group.text}", group.advice
    return f"{word} {group.code} (trials {where}), as in {named[0]}: {group.text}", group.advice


def _print_warnings(console: Console, groups: Sequence[WarningGroup]) -> None:
    if groups:
        _say(console, "")
    for group in groups:
        seen, advice = warning_lines(group)
        _say(console, seen, style="yellow" if group.severity is Severity.VOID else "")
        _say(console, f"     {advice}")


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, texts: Sequence[int]) -> Table:
    """A table without frame, so that 80 columns are enough and a log stays plain."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim")
    for index, heading in enumerate(headings):
        table.add_column(
            heading, justify="left" if index in texts else "right", overflow="fold", vertical="bottom"
        )
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _headings(headings: Sequence[str], analysis: Analysis) -> list[str]:
    """Headings that call phones phones."""
    return [f"{analysis.noun}s" if each == "clients" else each for each in headings]


def _pairs(comparisons: Sequence[Comparison]) -> list[list[Comparison]]:
    """Comparisons by their second arm, order kept."""
    pairs: dict[str, list[Comparison]] = {}
    for each in comparisons:
        pairs.setdefault(each.b.name, []).append(each)
    return list(pairs.values())


def _say(console: Console, text: str, *, style: str = "", whole: bool = False) -> None:
    """Text as it is: brackets are intervals and no markup. `whole`: on one line however long, for who searches a log."""
    console.print(Text(text), style=style or None, soft_wrap=whole)
