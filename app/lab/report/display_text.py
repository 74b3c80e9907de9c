"""Display delay on a terminal: what a phone's own page adds, by transport."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rich.console import Console

from app.lab.analysis.descriptive.display import DisplayRow, display_rows
from app.lab.analysis.words import TRANSPORT_TITLES, count_of, number
from app.lab.report.terminal import plain

NOTE = "Display delay is the phone's own, by its own clock; it is in none of the delays above."


def print_display(
    samples: Iterable[Mapping[str, Any]], console: Console, *, say: Callable[[str], str] = str
) -> None:
    """One line for each transport that painted anything; nothing where nobody painted. `say` translates."""
    rows = [row for row in display_rows(samples) if row.painted]
    for row in rows:
        console.print(plain(say(display_sentence(row))))
    if rows:
        console.print(plain(say(NOTE)))


def display_sentence(row: DisplayRow) -> str:
    """A row in words."""
    tail = f", p95 {number(row.display_ms_p95)} ms" if row.display_ms_p95 is not None else ""
    return (
        f"Shown on the page {number(row.display_ms_p50)} ms after its arrival (median{tail}): "
        f"{TRANSPORT_TITLES.get(row.transport, row.transport)}, {count_of(row.painted, 'notification')} on "
        f"{count_of(row.devices, 'phone')}; {row.unpainted} not shown."
    )
