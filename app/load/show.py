"""A load run on a terminal: gates first, then whether to believe them, then the levels and the generator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.load.gates import GateOutcome
from app.load.result import Kind, LoadResult
from app.load.words import (
    AGREEMENT_HEADINGS,
    AGREEMENT_NOTE,
    GENERATOR_HEADINGS,
    GENERATOR_NOTE,
    LEVEL_HEADINGS,
    LEVEL_NOTE,
    agreement_cells,
    capacity_sentences,
    generator_cells,
    level_cells,
    validity_sentence,
)

TICK, CROSS = "✓", "✗"


def print_load(result: LoadResult, console: Console) -> None:
    """Print everything that is the load run's own."""
    for outcome in result.gates:
        _say(console, gate_line(outcome, is_valid=result.is_valid), style="bold")
    for sentence in capacity_sentences(result):
        _say(console, sentence, style="bold")
    _say(console, validity_sentence(result), style="bold")
    for trouble in result.troubles:
        _say(console, f"  {CROSS} {trouble}")
    for advice in result.advice if result.troubles else ():
        _say(console, f"    {advice}")
    if result.agreement:
        _table(
            console, "Built-in clients and Locust", AGREEMENT_HEADINGS, map(agreement_cells, result.agreement)
        )
        _say(console, AGREEMENT_NOTE)
    _table(console, _title(result), LEVEL_HEADINGS, map(level_cells, result.levels))
    _say(console, LEVEL_NOTE)
    _table(console, "The generator", GENERATOR_HEADINGS, map(generator_cells, result.levels))
    _say(console, GENERATOR_NOTE)


def gate_line(outcome: GateOutcome, *, is_valid: bool) -> str:
    """A gate with its tick or cross; `?` where the generator is not to be believed."""
    mark = "?" if not is_valid else TICK if outcome.held else CROSS
    return f"{mark} {outcome.reason}"


def _title(result: LoadResult) -> str:
    return {
        Kind.RAMP: "Ramp, until a gate breaks",
        Kind.SPIKE: "Spike, everybody at once",
        Kind.STEPS: "Steps",
    }.get(result.kind, "Levels, in interleaved blocks")


def _table(console: Console, title: str, headings: Sequence[str], rows: Iterable[tuple[str, ...]]) -> None:
    _say(console, "")
    _say(console, title, style="bold")
    table = Table(box=None, pad_edge=False, header_style="")
    for place, heading in enumerate(headings):
        table.add_column(Text(heading), justify="left" if place == 0 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)


def _say(console: Console, text: str, *, style: str = "") -> None:
    console.print(Text(text, style=style), soft_wrap=not console.is_terminal)
