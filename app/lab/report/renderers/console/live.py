"""A live run on a terminal: delays by transport, and display delays of the phones' pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console

from app.core.messages import Message, Text
from app.core.trial import RunRecord
from app.i18n import LANGUAGES, speaker
from app.lab.analysis.descriptive.display import DisplayRow, display_rows
from app.lab.analysis.descriptive.live import LiveRow
from app.lab.analysis.words import TRANSPORT_TITLES
from app.lab.report.document import headings_of
from app.lab.report.renderers.console.page import Page


def print_display(
    samples: Iterable[Mapping[str, Any]], console: Console, *, language: str = LANGUAGES[0]
) -> None:
    """Print display delays, a line for each transport that painted anything."""
    page = Page(console, speaker(language))
    rows = [row for row in display_rows(samples) if row.painted]
    for row in rows:
        page.say(display_sentence(row))
    if rows:
        page.say(Message("note.display"))


def display_sentence(row: DisplayRow) -> Message:
    """Return a sentence on the display delay of one transport."""
    args = {
        "n": row.display_ms_p50,
        "n9": row.display_ms_p95,
        "arm": TRANSPORT_TITLES.get(row.transport, row.transport),
        "notifications": row.painted,
        "phones": row.devices,
        "n1": row.unpainted,
    }
    return Message("display" if row.display_ms_p95 is None else "display.p95", args)


LIVE_HEADINGS = headings_of(
    *("transport", "phones", "n", "used", "median__ms", "p95__ms", "bound__ms", "late", "replayed", "dupl."),
    "left_out",
)


def print_live(
    run: RunRecord, rows: Sequence[LiveRow], console: Console, *, language: str = LANGUAGES[0]
) -> None:
    """Print the delays that phones posted to a live run, which is no experiment."""
    page = Page(console, speaker(language))
    page.say("")
    page.say(Message("terminal.live", {"run": run.id, "n": sum(row.arrivals for row in rows)}), style="bold")
    if not rows:
        page.say(Message("terminal.live.none"))
        return
    page.table(LIVE_HEADINGS, map(live_cells, rows), texts=(0, 10))
    page.say(Message("terminal.live.delays"))
    page.say(Message("terminal.live.describes"))


def live_cells(row: LiveRow) -> tuple[Text, ...]:
    """Return a row of the table, by `LIVE_HEADINGS`."""
    left_out = dict(sorted(row.left_out.items()))
    return (
        *(TRANSPORT_TITLES.get(row.transport, row.transport), row.devices, row.arrivals, row.used),
        *(row.delay_ms_p50, row.delay_ms_p95, row.clock_bound_ms),
        *(row.late, row.replayed, row.duplicates),
        Message("terminal.live.left_out", {"states": left_out}) if left_out else None,
    )
