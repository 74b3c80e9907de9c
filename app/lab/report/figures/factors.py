"""A report's figure and tables of factor effects: how much of the difference between arms each factor explains."""

from __future__ import annotations

from collections.abc import Sequence

from app.core.messages import Message, Text, clauses, interval
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.comparison.factors import (
    Contribution,
    Effect,
    FactorTable,
    Level,
    Trial,
    contributions,
    factor_table,
)
from app.lab.analysis.words import METRIC_UNITS, arm_title, metric, metric_title, with_unit
from app.lab.report.document import Drawing, Figure, Table, headings_of
from app.lab.report.figures.series import described_value
from app.lab.report.panel import Axis, Panel, Picture
from app.lab.report.statements import p_value

METRICS = ("delay_ms_p50", "cpu_per_delivery_us")

ROWS_DRAWN_MAX = 16
"""Most effects in a drawing, so that it fits a page; the table has all of them."""


def factor_tables(analysis: Analysis) -> tuple[FactorTable, ...]:
    """Return a table of the factors' effects for each of `METRICS`; none for a run with one arm."""
    if len(analysis.run.plan.arms) < 2:
        return ()
    return tuple(factor_table(metric, _trials(analysis, metric)) for metric in METRICS)


def factor_figure(analysis: Analysis, tables: Sequence[FactorTable]) -> Figure | None:
    """Return a forest plot of the factors' effects, with their table; `None` if there is none to draw.

    That is so where no factor varies, or each only together with another. `tables`: from `factor_tables`; each that has
    effects gives a drawing.
    """
    if not any(table.effects for table in tables):
        return None
    drawings = tuple(_forest(f"factors{index}", table) for index, table in enumerate(tables) if table.effects)
    return Figure(Message("figure.factors"), _note(tables), drawings, effects_table(tables))


def effects_table(tables: Sequence[FactorTable]) -> Table:
    """Return a table with a row per effect of a factor on a metric."""
    headings = headings_of(
        *("metric", "kind", "factor", "from", "to", "effect", "95_%_interval", "holm_p"),
        *("pairs_per_block", "blocks"),
    )
    rows = [
        (
            *(_metric(table.metric), Message(f"cell.{effect.kind}"), _factors(effect)),
            clauses(_level(low) for low, _ in effect.levels),
            clauses(_level(high) for _, high in effect.levels),
            *(effect.estimate, interval(effect.interval.low, effect.interval.high)),
            *(p_value(effect.p_holm), effect.cells),
            effect.blocks,
        )
        for table in tables
        for effect in table.effects
    ]
    return Table(headings, rows, frozenset({0, 1, 2, 3, 4}))


def share_table(analysis: Analysis) -> Table | None:
    """Return a table of how much each factor adds to an arm's difference from the first arm.

    `None` if no arm differs from the first in more than one factor.
    """
    headings = headings_of(
        *("metric", "clients", "difference", "factor", "from", "to", "share_of_it", "95_%_interval")
    )
    rows = [
        (
            *(_metric(name), clients, title, _factor(part.factor), _level(part.before), _level(part.after)),
            *(part.estimate, interval(part.interval.low, part.interval.high)),
        )
        for name, clients, title, parts in arm_shares(analysis)
        for part in parts
    ]
    return Table(headings, rows, frozenset({0, 2, 3, 4, 5})) if rows else None


def arm_shares(analysis: Analysis) -> list[tuple[str, int, str, tuple[Contribution, ...]]]:
    """Return tuples (metric, clients, name of the difference, contribution of each factor).

    There is one for each of `METRICS`, each arm but the first, and each count of clients, in this order, but only for
    arms that differ from the first in more than one factor.
    """
    arms = analysis.run.plan.arms
    found = []
    for name in METRICS:
        trials = _trials(analysis, name)
        for b in arms[1:]:
            for clients in analysis.client_counts:
                parts = contributions(trials, arms[0], b, clients)
                if len(parts) > 1:
                    found.append((name, clients, f"{arm_title(b)} - {arm_title(arms[0])}", parts))
    return found


def _trials(analysis: Analysis, metric: str) -> list[Trial]:
    """Return one metric of each trial of a valid block, by count of clients, then in the plan's order of arms.

    The first arm at the smallest count thus has the levels with which others are compared.
    """
    order = {arm.name: place for place, arm in enumerate(analysis.run.plan.arms)}
    found = [
        Trial(
            each.record.spec.arm,
            each.record.spec.clients,
            each.record.spec.block,
            each.metrics.delay_ms.p50 if metric == "delay_ms_p50" else each.cpu.per_delivery_us,
        )
        for each in analysis.trials
        if each.in_comparison
    ]
    return sorted(found, key=lambda trial: (trial.clients, order[trial.arm.name]))


def _forest(name: str, table: FactorTable) -> Drawing:
    rows = table.effects[:ROWS_DRAWN_MAX][::-1]  # the axis counts from below
    unit = METRIC_UNITS[table.metric]
    ends = [
        abs(value)
        for each in rows
        for value in (each.estimate, each.interval.low, each.interval.high)
        if value is not None
    ]
    limit = 1.1 * max(ends, default=1.0) or 1.0
    panel = Panel(
        Axis(with_unit(Message("heading.effect"), unit), -limit, limit),
        Axis.categories("", [_label(each) for each in rows]),
        height_px=64 + 34 * len(rows),
    )
    panel.upright(0.0)
    for place, each in enumerate(rows):
        if each.interval.low is not None and each.interval.high is not None:
            panel.range_along(place, each.interval.low, each.interval.high, thin=False)
        if each.estimate is not None:
            panel.estimate(each.estimate, place)
    described = clauses(described_value(_label(each), each.estimate, unit) for each in rows)
    title = Message("figure.factors.title", {"metric": metric(table.metric)})
    return Drawing(with_unit(metric_title(table.metric), unit), Picture(panel, name, title, described))


def _label(effect: Effect) -> Text:
    if effect.kind == "interaction":
        return _factors(effect)
    (low, high), *_ = effect.levels
    args = {"factor": _factors(effect), "from": _level(low), "to": _level(high)}
    return Message("figure.factors.label", args)


def _note(tables: Sequence[FactorTable]) -> Message:
    """Return the caption: how to read the table of effects, and which factors never change alone."""
    names = tuple(map(_factor, dict.fromkeys(name for table in tables for name in table.confounded)))
    note = Message("note.factors")
    if not names:
        return note
    args = {"note": note, "list": names, "count": len(names)}
    return Message(f"note.factors.confounded.{'changes' if len(names) == 1 else 'change'}", args)


def _factors(effect: Effect) -> Text:
    """Return the title of a main effect's factor, or of an interaction's two."""
    first, *others = map(_factor, effect.factors)
    return Message("cell.factors", {"factor": first, "factor1": others[0]}) if others else first


def _factor(name: str) -> Text:
    return Message(f"heading.{name}") if name in ("transport", "clients") else name


def _level(level: Level) -> Text:
    """Return a factor's value for display; `None` (the arm does not set it) is shown as that of plan or server."""
    if isinstance(level, bool):
        return Message(f"cell.{str(level).lower()}")
    return Message("cell.as_set") if level is None else Message("cell.as_written", {"n": level})


def _metric(name: str) -> Message:
    return with_unit(metric(name), METRIC_UNITS[name])
