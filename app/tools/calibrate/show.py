"""Output of a calibration: progress, tables with a tick or cross per row, sentences, JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.i18n import Words
from app.lab.analysis.words import TRANSPORT_TITLES
from app.tools.calibrate.case import Case
from app.tools.calibrate.result import BOUND_MS_MAX, MS, CheckResult, CheckRow, Judgement, Verdict

SCHEMA = 1
"""Version of the JSON document. 1: the first."""

MARKS = {CheckResult.RIGHT: "✓", CheckResult.WRONG: "✗", CheckResult.WIDE: "?"}


COLUMNS = ("what", "true", "measured", "error", "bound", "ok")


def print_result(rows: Sequence[CheckRow], verdict: Verdict, words: Words, console: Console) -> None:
    """Print a table per transport, the meaning of its columns, and the verdict."""
    for transport in dict.fromkeys(row.transport for row in rows):
        console.print(Text(TRANSPORT_TITLES[transport], style="bold"))
        console.print(_table([row for row in rows if row.transport == transport], words))
        console.print()
    for text in (words.say("note", limit=f"{BOUND_MS_MAX:g}"), "", *sentences(verdict, words)):
        console.print(Text(text), soft_wrap=not console.is_terminal)


def _table(rows: Sequence[CheckRow], words: Words) -> Table:
    """Return the table. Figures are never wrapped, whatever the width; only words are."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for place, name in enumerate(COLUMNS):
        is_figure = 0 < place < len(COLUMNS) - 1
        table.add_column(
            words.say(f"column.{name}"), justify="right" if is_figure else "left", no_wrap=place > 0
        )
    for row in rows:
        table.add_row(*map(Text, cells(row, words)))
    return table


def cells(row: CheckRow, words: Words) -> tuple[str, ...]:
    """Return the cells of a row, with figures in the row's own unit."""
    return (
        words.say(f"row.{row.code}", **row.places),
        *(written(figure(value, row.unit), words) for value in (row.true, row.measured)),
        written(signed(row), words),
        words.say("exact") if row.unit != MS else written(f"± {row.bound:.3f}", words),
        mark(row),
    )


_SWAPPED = str.maketrans(",.", ".,")


def written(figure: str, words: Words) -> str:
    """Return a figure in the language's notation: Indonesian uses decimal commas, and points for thousands."""
    return figure.translate(_SWAPPED) if words.language == "id" else figure


def figure(value: float | None, unit: str) -> str:
    """Format a value: milliseconds to the microsecond, the resolution of the comparison; counts as whole numbers."""
    if value is None:
        return "-"
    return f"{value:,.3f}" if unit == MS else str(round(value))


def signed(row: CheckRow) -> str:
    """Return the error with its sign."""
    if row.error is None:
        return "-"
    return f"{row.error:+.3f}" if row.unit == MS else f"{round(row.error):+d}" if row.error else "0"


def mark(row: CheckRow) -> str:
    """Return tick, cross or question mark, with the number of stamps within their bound."""
    inside = f" {row.inside[0]}/{row.inside[1]}" if row.inside is not None else ""
    return MARKS[row.state] + inside


def sentences(verdict: Verdict, words: Words) -> list[str]:
    """Return a sentence per part, and the verdict last."""
    found = [
        words.say(
            f"part.{part}",
            error=written(f"{verdict.error_ms[part]:.3f}", words),
            bound=written(f"{verdict.bound_ms[part]:.3f}", words),
            inside=written(f"{verdict.stamps_inside:,}", words),
            of=written(f"{verdict.stamps:,}", words),
        )
        for part in verdict.error_ms
    ]
    code = "counted" if verdict.miscounted == 0 else "miscounted"
    return [
        *found,
        words.say(f"{code}", count=verdict.miscounted),
        words.say(f"verdict.{verdict.judgement}", limit=f"{BOUND_MS_MAX:g}"),
    ]


def as_json(
    rows: Sequence[CheckRow],
    verdict: Verdict,
    words: Words,
    *,
    conditions: Mapping[str, object],
    lags_ms_p99: Mapping[str, float | None],
) -> str:
    """Return the result as JSON: codes and figures for programs, sentences for people. Ends with a line feed."""
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "right": verdict.judgement is Judgement.RIGHT,
        "verdict": verdict.judgement.value,
        "sentences": sentences(verdict, words),
        "language": words.language,
        "bound_ms_max": BOUND_MS_MAX,
        "error_ms_max": dict(verdict.error_ms),
        "miscounted": verdict.miscounted,
        "stamps_inside": verdict.stamps_inside,
        "stamps": verdict.stamps,
        "rows": [_row(row, words) for row in rows],
        "client_loop_lag_ms_p99": dict(lags_ms_p99),
        "conditions": dict(conditions),
    }
    return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def _row(row: CheckRow, words: Words) -> dict[str, Any]:
    return {
        "part": row.part.value,
        "code": row.code,
        "words": words.say(f"row.{row.code}", **row.places),
        "transport": row.transport,
        "unit": row.unit,
        "true": row.true,
        "measured": row.measured,
        "error": row.error,
        "bound": row.bound,
        "inside": None if row.inside is None else {"count": row.inside[0], "of": row.inside[1]},
        "state": row.state.value,
    }


LOG_LINES = 4


@dataclass(slots=True)
class Progress:
    """Progress display, updated between trials only. It erases its line on a terminal at the end."""

    stream: TextIO
    words: Words
    seconds: Sequence[float]
    """Approximate duration of each case."""
    _done: int = field(init=False, default=0)

    def __enter__(self) -> Self:
        self._say(self.words.say("start", count=len(self.seconds), seconds=round(sum(self.seconds))))
        return self

    def __exit__(self, *_error: object) -> None:
        if self.stream.isatty():
            self.stream.write("\r\x1b[K")
            self.stream.flush()

    def next(self, case: Case) -> None:
        """Show that a case is about to begin."""
        text = self.words.say(
            "progress",
            number=self._done + 1,
            count=len(self.seconds),
            transport=TRANSPORT_TITLES[case.transport],
            what=self.words.say(f"part_name.{case.part}"),
            seconds=round(sum(self.seconds[self._done :])),
        )
        if self.stream.isatty():
            self.stream.write(f"\r\x1b[K{text}")
            self.stream.flush()
        elif self._done and self._done % -(-len(self.seconds) // LOG_LINES) == 0:
            self._say(text)
        self._done += 1

    def _say(self, text: str) -> None:
        print(text, file=self.stream, flush=True)
