"""A live run on a terminal: delays by transport, and display delays of the phones' pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console

from app.core.messages import Message
from app.core.trial import RunRecord
from app.i18n import LANGUAGES
from app.lab.analysis.descriptive.display import DisplayRow, display_rows
from app.lab.analysis.descriptive.live import LiveRow
from app.lab.analysis.words import TRANSPORT_TITLES, count_of, number, states
from app.lab.report.renderers.console.page import Page, plain
from app.lab.report.translation import translator

NOTE = "Display delay is the phone's own, by its own clock; it is in none of the delays above."


def print_display(
    samples: Iterable[Mapping[str, Any]], console: Console, *, say: Callable[[str], str] = str
) -> None:
    """Print display delays, a line for each transport that painted anything. `say` translates."""
    rows = [row for row in display_rows(samples) if row.painted]
    for row in rows:
        console.print(plain(say(display_sentence(row))))
    if rows:
        console.print(plain(say(NOTE)))


def display_sentence(row: DisplayRow) -> str:
    """Return a sentence on the display delay of one transport."""
    tail = f", p95 {number(row.display_ms_p95)} ms" if row.display_ms_p95 is not None else ""
    return (
        f"Shown on the page {number(row.display_ms_p50)} ms after its arrival (median{tail}): "
        f"{TRANSPORT_TITLES.get(row.transport, row.transport)}, {count_of(row.painted, 'notification')} on "
        f"{count_of(row.devices, 'phone')}; {row.unpainted} not shown."
    )


LIVE_HEADINGS = (
    *("transport", "phones", "n", "used", "median\nms", "p95\nms", "bound\nms", "late", "replayed", "dupl."),
    "left out",
)


def print_live(
    run: RunRecord, rows: Sequence[LiveRow], console: Console, *, language: str = LANGUAGES[0]
) -> None:
    """Print the delays that phones posted to a live run, which is no experiment."""
    page = Page(console, translator(language))
    page.say("")
    arrivals = sum(row.arrivals for row in rows)
    page.say(f"Live run {run.id}: {arrivals} arrivals posted by phones.", style="bold")
    if not rows:
        page.say(Message("terminal.live.none"))
        return
    page.table(LIVE_HEADINGS, map(live_cells, rows), texts=(0, 10))
    page.say(Message("terminal.live.delays"))
    page.say(Message("terminal.live.describes"))


def live_cells(row: LiveRow) -> tuple[str, ...]:
    """Return a row of the table, by `LIVE_HEADINGS`."""
    return (
        TRANSPORT_TITLES.get(row.transport, row.transport),
        *(str(count) for count in (row.devices, row.arrivals, row.used)),
        *(number(value) for value in (row.delay_ms_p50, row.delay_ms_p95, row.clock_bound_ms)),
        *(str(count) for count in (row.late, row.replayed, row.duplicates)),
        "; ".join(states(dict(sorted(row.left_out.items())))) or "-",
    )
