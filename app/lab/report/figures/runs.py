"""The figure of a comparison of two runs: one metric of each arm in the later run next to the first."""

from __future__ import annotations

from collections.abc import Sequence

from app.core.messages import Message, Text, clauses, interval
from app.lab.analysis.compare_runs import Change, RunShift
from app.lab.analysis.runs_headline import outcome
from app.lab.analysis.words import METRIC_UNITS, at_clients, metric, metric_title, with_unit
from app.lab.report.document import Drawing, Figure, Table, headings_of
from app.lab.report.panel import Axis, Panel, Picture
from app.lab.report.statements import change_word, subject

ROW_PX = 34
"""Height of a row, with room for the change below its markers."""

LIFT = 2 / ROW_PX
"""Share of a row by which the change is lifted, so that it is nearer to its own row than to the next."""

HEADINGS = headings_of(
    *("arm", "clients", "first", "this", "shift", "95_%_interval", "trials", "verdict", "equiv.")
)


def runs_figure(rows: Sequence[RunShift], run: Text, noun: str, *, name: str) -> Figure:
    """Return the figure of one metric in one later run: a drawing, and a table with the differences between arms too.

    `rows`: at least one. `run`: the later run's name. `noun`: "client" or "phone". `name`: unique in the document.
    """
    metric_name, heading = rows[0].metric, Message("figure.runs.drawing", {"run": run})
    return Figure(
        with_unit(metric_title(metric_name), METRIC_UNITS[metric_name]),
        Message("caption.runs"),
        (Drawing(heading, _drawn([each for each in rows if each.less is None], run, noun, name)),),
        Table(HEADINGS, list(map(_cells, rows)), frozenset({0, 7, 8})),
    )


def _drawn(rows: Sequence[RunShift], run: Text, noun: str, name: str) -> Picture:
    upwards = rows[::-1]  # The axis counts from below.
    places = [at_clients(each.arm, each.clients, noun) for each in upwards]
    quantity = with_unit(metric(rows[0].metric), METRIC_UNITS[rows[0].metric])
    panel = Panel(
        Axis.from_zero(quantity, [value for each in rows for value in (each.base_median, each.median)]),
        Axis.categories("", places),
        height_px=64 + ROW_PX * len(rows),
    )
    for y, row in enumerate(upwards):
        panel.range_along(y, row.base_median, row.median, thin=True)
        panel.estimate(row.base_median, y)
        panel.marker(row.median, y, 0)
        if outcome(row) in (Change.WORSE, Change.BETTER):
            panel.caption(y + LIFT, _change(row))
    described = clauses(_described(row, place) for row, place in zip(upwards, places, strict=True))
    title = Message("figure.runs.title", {"metric": metric_title(rows[0].metric), "run": run})
    return Picture(panel, name, title, described)


def _change(row: RunShift) -> Message:
    args = {"change": change_word(row), "n": abs(row.estimate), "unit": METRIC_UNITS[row.metric]}
    return Message("figure.runs.change", args)


def _described(row: RunShift, place: Text) -> Message:
    args = {"row": place, "n": row.base_median, "n1": row.median, "unit": METRIC_UNITS[row.metric]}
    return Message("figure.runs.described", {**args, "change": change_word(row)})


def _cells(row: RunShift) -> tuple[Text, ...]:
    return (
        *(subject(row), row.clients, row.base_median, row.median, row.estimate),
        interval(row.interval.low, row.interval.high),
        Message("compare.trials", {"n": row.base_trials, "n1": row.trials}),
        change_word(row),
        None if row.margin is None else Message("cell.yes" if row.equivalent else "cell.no"),
    )
