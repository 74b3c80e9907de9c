"""The figure of factor effects: how much of the difference between arms each factor explains."""

from __future__ import annotations

from collections.abc import Sequence

from app.core.messages import Message
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
from app.lab.analysis.words import METRIC_WORDS, arm_title, count_of, interval, listing, number
from app.lab.report.document import Drawing, Figure, Table, headings_of
from app.lab.report.labels import left_for, row_name
from app.lab.report.panel import Axis, Panel, Picture

METRICS = ("delay_ms_p50", "cpu_per_delivery_us")

ROWS_DRAWN_MAX = 16
"""Effects that fit a page; the table has all of them."""

NOTE = (
    "Each row is a difference within blocks: a main effect is what changes when only this factor does, averaged over all arms "
    "and counts of clients that allow it; an interaction is how much of one factor's effect depends on the other. Intervals are "
    "exact, 95 %, not adjusted; p is Holm-adjusted over the table. Exploratory: the verdict is above."
)


def factor_tables(analysis: Analysis) -> tuple[FactorTable, ...]:
    """Return the factors' effects on each metric; none for a run with one arm."""
    if len(analysis.run.plan.arms) < 2:
        return ()
    return tuple(factor_table(metric, _trials(analysis, metric)) for metric in METRICS)


def factor_figure(analysis: Analysis, tables: Sequence[FactorTable]) -> Figure | None:
    """Return a forest plot of the effects with their table; `None` where no factor varies."""
    if not any(table.effects for table in tables):
        return None
    drawings = tuple(_forest(f"factors{index}", table) for index, table in enumerate(tables) if table.effects)
    return Figure(Message("figure.factors"), NOTE + _confounded(tables), drawings, effects_table(tables))


def effects_table(tables: Sequence[FactorTable]) -> Table:
    """Return every effect on every metric."""
    headings = headings_of(
        *("metric", "kind", "factor", "from", "to", "effect", "95_%_interval", "holm_p"),
        *("pairs_per_block", "blocks"),
    )
    rows = [
        (
            *(_metric(table.metric), effect.kind, " x ".join(effect.factors)),
            ", ".join(_level(low) for low, _ in effect.levels),
            ", ".join(_level(high) for _, high in effect.levels),
            *(number(effect.estimate), interval(effect.interval.low, effect.interval.high)),
            *("< 0.001" if effect.p_holm < 0.001 else number(effect.p_holm), str(effect.cells)),
            str(effect.blocks),
        )
        for table in tables
        for effect in table.effects
    ]
    return Table(headings, rows, frozenset({0, 1, 2, 3, 4}))


def share_table(analysis: Analysis) -> Table | None:
    """Return each factor's share of the arms' differences from the first; `None` where no arm differs in several factors."""
    headings = headings_of(
        "metric", "clients", "difference", "factor", "from", "to", "share_of_it", "95_%_interval"
    )
    rows = [
        (
            *(_metric(metric), str(clients), title, part.factor, _level(part.before), _level(part.after)),
            *(number(part.estimate), interval(part.interval.low, part.interval.high)),
        )
        for metric, clients, title, parts in arm_shares(analysis)
        for part in parts
    ]
    return Table(headings, rows, frozenset({0, 2, 3, 4, 5})) if rows else None


def arm_shares(analysis: Analysis) -> list[tuple[str, int, str, tuple[Contribution, ...]]]:
    """Return (metric, clients, difference, contributions of factors) of arms that differ from the first in several factors."""
    arms = analysis.run.plan.arms
    found = []
    for metric in METRICS:
        trials = _trials(analysis, metric)
        for b in arms[1:]:
            for clients in analysis.client_counts:
                parts = contributions(trials, arms[0], b, clients)
                if len(parts) > 1:
                    found.append((metric, clients, f"{arm_title(b)} - {arm_title(arms[0])}", parts))
    return found


def _trials(analysis: Analysis, metric: str) -> list[Trial]:
    """Return trials in the order of the plan's arms, so that the first arm's levels are the baseline."""
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
    words = METRIC_WORDS[table.metric]
    ends = [
        abs(value)
        for each in rows
        for value in (each.estimate, each.interval.low, each.interval.high)
        if value is not None
    ]
    limit = 1.1 * max(ends, default=1.0) or 1.0
    names = [row_name(_label(each)) for each in rows]
    panel = Panel(
        Axis(f"effect, {words.unit}", -limit, limit),
        Axis.categories("", names),
        height_px=64 + 34 * len(rows),
        left_px=left_for(names),
    )
    panel.upright(0.0)
    for place, each in enumerate(rows):
        if each.interval.low is not None and each.interval.high is not None:
            panel.range_along(place, each.interval.low, each.interval.high, thin=False)
        if each.estimate is not None:
            panel.estimate(each.estimate, place)
    described = "; ".join(f"{_label(each)}: {number(each.estimate)} {words.unit}" for each in rows)
    picture = Picture(panel, name, title=f"Effects on {words.short}", description=described)
    return Drawing(f"{words.title}, {words.unit}", picture)


def _label(effect: Effect) -> str:
    if effect.kind == "interaction":
        return " x ".join(effect.factors)
    (low, high), *_ = effect.levels
    return f"{effect.factors[0]}: {_level(low)} > {_level(high)}"


def _confounded(tables: Sequence[FactorTable]) -> str:
    """Return a sentence on factors that never change alone, or nothing."""
    names = list(dict.fromkeys(name for table in tables for name in table.confounded))
    if not names:
        return ""
    verb = "changes" if len(names) == 1 else "change"
    return f" Never {verb} alone, so that no effect can be told: {listing(names)} ({count_of(len(names), 'factor')})."


def _level(level: Level) -> str:
    """Return a level's text; a factor that the arm does not set has the value of the plan or the server."""
    return "as set" if level is None else str(level).lower() if isinstance(level, bool) else str(level)


def _metric(metric: str) -> str:
    words = METRIC_WORDS[metric]
    return f"{words.short}, {words.unit}"
