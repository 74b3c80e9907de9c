"""Runs against the first, as text and as plain JSON values: settings first, then figures, then what got worse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from app.lab.analysis.analyse import Analysis
from app.lab.analysis.comparable import SettingDifference, Weight, objections, setting_differences
from app.lab.analysis.compare_runs import Change, RunShift, compare_runs, regressions
from app.lab.analysis.words import METRIC_WORDS, arm_title, count_of, interval, number
from app.lab.report.terminal import plain

SCHEMA = 1

VALUE_CHARS_MAX = 40

NOTE = (
    "Runs are no blocks: whatever else changed between them is in these differences. Intervals are exact (rank sum of trial "
    "figures), the verdict's Holm-adjusted over all rows; equiv.: the 90 % interval within the first run's margin."
)

SAME_SETTINGS = "Settings: no difference that was recorded."


def compared_json(analyses: Sequence[Analysis]) -> dict[str, Any]:
    """The whole comparison, ready for `json.dumps`; rows are there also where it is objected to."""
    runs = [each.run for each in analyses]
    rows = compare_runs(analyses)
    return {
        "schema": SCHEMA,
        "runs": [
            {"id": each.run.id, "started": each.run.started, "plan_sha256": each.plan_sha256}
            for each in analyses
        ],
        "settings": [
            {"name": each.name, "weight": each.weight.value, "values": list(each.values)}
            for each in setting_differences(runs)
        ],
        "objections": list(objections(runs)),
        "rows": [_row_json(each) for each in rows],
        "regressions": [change_sentence(each) for each in regressions(rows)],
    }


def print_compared(analyses: Sequence[Analysis], console: Console, *, anyway: bool) -> None:
    """Settings, objections, figures and what got worse; no figures where there are objections, unless `anyway`."""
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


def subject(row: RunShift) -> str:
    """What a row is about: `SSE`, or `Socket.IO - SSE`."""
    return arm_title(row.arm) if row.less is None else f"{arm_title(row.arm)} - {arm_title(row.less)}"


def change_word(row: RunShift) -> str:
    """What became of it. Of a difference between arms "worse" would have no meaning: that is `higher` or `lower`."""
    if row.less is None or row.change is Change.UNDECIDED:
        return row.change.value
    return "higher" if row.change is Change.WORSE else "lower"


def change_sentence(row: RunShift) -> str:
    """A row in words, from its intervals only."""
    words = METRIC_WORDS[row.metric]
    change = {Change.WORSE: "higher", Change.BETTER: "lower", Change.UNDECIDED: "undecided"}[row.change]
    share = f" ({100 * row.estimate / row.base_median:+.0f} %)" if row.base_median > 0 else ""
    same = f"; equivalent within ±{number(row.margin)} {words.unit}" if row.equivalent else ""
    return (
        f"{words.short} of {subject(row)} at {count_of(row.clients, 'client')} {change} by {number(row.estimate)} {words.unit}"
        f"{share} {interval(row.interval.low, row.interval.high)} in {row.run}{same}"
    )


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


def _row_json(row: RunShift) -> dict[str, Any]:
    return {
        **asdict(row),
        "arm": row.arm.name,
        "less": row.less.name if row.less else None,
        "change": row.change.value,
        "text": change_sentence(row),
    }


def _short(value: object) -> str:
    text = "-" if value is None else str(value)
    return text if len(text) <= VALUE_CHARS_MAX else text[: VALUE_CHARS_MAX - 3] + "..."


def _say(console: Console, text: str, *, style: str = "") -> None:
    """A text on one line however long where it goes into a file."""
    console.print(plain(text), style=style or None, soft_wrap=not console.is_terminal)
