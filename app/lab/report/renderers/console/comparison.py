"""The comparison of runs with the first one on a terminal: settings, figures, regressions."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from app.lab.analysis.analyse import Analysis
from app.lab.analysis.comparable import SettingDifference, Weight, objections, setting_differences
from app.lab.analysis.compare_runs import Change, RunShift, compare_runs, regressions
from app.lab.analysis.words import METRIC_WORDS, count_of, interval, number
from app.lab.report.renderers.console.page import plain
from app.lab.report.statements import change_sentence, change_word, subject

VALUE_CHARS_MAX = 40

NOTE = (
    "Runs are no blocks: whatever else changed between them is in these differences. Intervals are exact (rank sum of trial "
    "figures), the verdict's Holm-adjusted over all rows; equiv.: the 90 % interval within the first run's margin."
)

SAME_SETTINGS = "Settings: no difference that was recorded."


def print_compared(analyses: Sequence[Analysis], console: Console, *, anyway: bool) -> None:
    """Print settings, objections, figures and regressions; figures of runs that are not comparable only if `anyway`."""
    runs = [each.run for each in analyses]
    base = runs[0].id
    _print_settings(setting_differences(runs), [run.id for run in runs], console)
    for sentence in objections(runs):
        _say(console, f"{'Not comparable' if not anyway else 'NOT COMPARABLE, shown anyway'}: {sentence}")
    if objections(runs) and not anyway:
        return
    rows = compare_runs(analyses)
    for run in runs[1:]:
        _say(console, "")
        _say(console, f"{run.id} minus {base}, medians of trial figures", style="bold")
        console.print(_table([each for each in rows if each.run == run.id]))
    if rows:
        _say(console, NOTE)
    _say(console, "")
    found = regressions(rows)
    for each in found:
        _say(console, f"Regression: {change_sentence(each)}", style="bold")
    if not found:
        undecided = sum(
            each.change is Change.UNDECIDED and not each.equivalent for each in rows if each.less is None
        )
        rest = f"; {undecided} of them undecided" if undecided else ""
        counted = count_of(sum(each.less is None for each in rows), "figure")
        _say(console, f"No regression found among {counted}{rest}.", style="bold")


def _print_settings(found: Sequence[SettingDifference], names: Sequence[str], console: Console) -> None:
    if not found:
        _say(console, SAME_SETTINGS)
        return
    _say(console, "Settings that differ", style="bold")
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim")
    for heading in ("setting", *names, ""):
        table.add_column(plain(heading), overflow="fold", vertical="top")
    marks = {Weight.REFUSED: "not comparable", Weight.WARNED: "take care", Weight.NOTED: ""}
    for each in found:
        table.add_row(*map(plain, (each.name, *map(_short, each.values), marks[each.weight])))
    console.print(table)


def _table(rows: Sequence[RunShift]) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim")
    headings = (
        "metric",
        "of",
        "clients",
        "first",
        "this",
        "shift",
        "95 % interval",
        "trials",
        "verdict",
        "equiv.",
    )
    for index, heading in enumerate(headings):
        table.add_column(heading, justify="left" if index in (0, 1, 8, 9) else "right", overflow="fold")
    for row in rows:
        words = METRIC_WORDS[row.metric]
        table.add_row(
            *map(
                plain,
                (
                    *(f"{words.short} {words.unit}", subject(row), str(row.clients)),
                    *(number(row.base_median), number(row.median), number(row.estimate)),
                    interval(row.interval.low, row.interval.high),
                    f"{row.base_trials}, {row.trials}",
                    change_word(row),
                    "-" if row.margin is None else "yes" if row.equivalent else "no",
                ),
            )
        )
    return table


def _short(value: object) -> str:
    text = "-" if value is None else str(value)
    return text if len(text) <= VALUE_CHARS_MAX else text[: VALUE_CHARS_MAX - 3] + "..."


def _say(console: Console, text: str, *, style: str = "") -> None:
    """Print a text; on a single line of any length if the output is no terminal."""
    console.print(plain(text), style=style or None, soft_wrap=not console.is_terminal)
