"""Main effects and interactions of the arms' factors, block by block.

An arm is a transport with its factors (fan-out, polling, gap, payload, radio). With a count of clients it is a cell of the
design, and the trials of one block number are one repetition of all cells. In each repetition:

    main effect of F, level 1 over 0     mean over all pairs of cells that differ in F only: value at 1 - value at 0
    interaction of F and G               mean over all squares: (f1 g1 - f0 g1) - (f1 g0 - f0 g0)

Every effect is thus a block difference. It gets the same exact interval as the verdict (`statistics/signed_rank.py`), and
a Holm adjustment over the table. It is exploratory and gives no verdict. Source: Box, Hunter and Hunter, Statistics for
Experimenters, 2nd ed., chapter 5, without their halving of interactions, so that an interaction is in the metric's unit.

A level is compared with the plan's first level; where no pair of cells connects them, with the first level that has a pair.
A factor that never changes alone is indistinguishable from those that change with it. It has no pairs, and is left out
and listed as confounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

from app.core.plan.scenario import Arm
from app.lab.analysis.statistics.holm import holm
from app.lab.analysis.statistics.interval import Interval
from app.lab.analysis.statistics.quantile import mean
from app.lab.analysis.statistics.signed_rank import pseudo_median, signed_rank_interval, signed_rank_p

LEVEL = 0.95
SHARE_FACTORS_MAX = 6
"""Most factors that contributions are computed for: 720 orders of changing them; nobody reads more rows."""

Level = str | int | float | bool | None
"""A level of a factor; `None` where the arm does not set it, so that the server's or the plan's own value holds."""
Cell = tuple[tuple[str, Level], ...]
"""The levels of a cell with the names of their factors, in the same order everywhere."""
Blocks = Mapping[int, Mapping[Cell, float]]
"""block -> cell -> value."""


@dataclass(frozen=True, slots=True)
class Effect:
    """A row of the table: one main effect or interaction."""

    kind: str
    """main or interaction."""
    factors: tuple[str, ...]
    levels: tuple[tuple[Level, Level], ...]
    """The change of each factor: from the first level (the plan's first, where a pair has it) to the second."""
    cells: int
    """The number of pairs or squares that were averaged in each block."""
    blocks: int
    estimate: float | None
    """The pseudo-median over blocks, in the metric's unit."""
    interval: Interval
    """The exact 95 % interval, not adjusted."""
    p: float
    p_holm: float
    """p after Holm adjustment over all rows of this table."""


@dataclass(frozen=True, slots=True)
class FactorTable:
    """All effects of factors on one metric."""

    metric: str
    effects: tuple[Effect, ...]
    confounded: tuple[str, ...]
    """Factors that never change without another one."""


@dataclass(frozen=True, slots=True)
class Contribution:
    """The contribution of one factor to the difference between two arms."""

    factor: str
    before: Level
    after: Level
    estimate: float | None
    interval: Interval


@dataclass(frozen=True, slots=True)
class Trial:
    """The properties of a trial that the table needs."""

    arm: Arm
    clients: int
    block: int
    value: float | None


def cell_of(arm: Arm, clients: int, names: Sequence[str]) -> Cell:
    """Return the cell of an arm at a count of clients."""
    own: dict[str, Level] = {"transport": arm.transport, "clients": clients, **arm.factors}
    return tuple((name, own.get(name)) for name in names)


def factor_names(trials: Sequence[Trial]) -> tuple[str, ...]:
    """Return the factors that take more than one level: transport first, then by name, clients last."""
    set_by_arms = sorted({name for each in trials for name in each.arm.factors})
    names = ("transport", *set_by_arms, "clients")
    return tuple(name for name in names if len({cell_of(t.arm, t.clients, [name]) for t in trials}) > 1)


def blocks_of(trials: Sequence[Trial], names: Sequence[str]) -> dict[int, dict[Cell, float]]:
    """Group values by block and cell; equal arms (A/A) share a cell, which gets their mean."""
    found: dict[int, dict[Cell, list[float]]] = {}
    for each in trials:
        if each.value is not None:
            cell = cell_of(each.arm, each.clients, names)
            found.setdefault(each.block, {}).setdefault(cell, []).append(each.value)
    return {
        block: {cell: mean(values) or 0.0 for cell, values in cells.items()}
        for block, cells in sorted(found.items())
    }


def factor_table(metric: str, trials: Sequence[Trial]) -> FactorTable:
    """Return the effects of every factor that varies over these trials."""
    names = factor_names(trials)
    blocks = blocks_of(trials, names)
    cells = list(dict.fromkeys(cell_of(each.arm, each.clients, names) for each in trials))
    levels = {name: list(dict.fromkeys(dict(cell)[name] for cell in cells)) for name in names}
    rows: list[tuple[str, tuple[str, ...], tuple[tuple[Level, Level], ...], int, list[float]]] = []
    confounded = []
    for name in names:
        found = list(_main(name, levels[name], cells, blocks))
        rows += found
        if not found:
            confounded.append(name)
    for pair in combinations(names, 2):
        rows += _interactions(pair, levels, cells, blocks)
    steps = holm([signed_rank_p(values) for *_, values in rows], alpha=1 - LEVEL)
    effects = tuple(
        Effect(
            kind=kind,
            factors=factors,
            levels=changes,
            cells=count,
            blocks=len(values),
            estimate=pseudo_median(values),
            interval=signed_rank_interval(values, LEVEL),
            p=signed_rank_p(values),
            p_holm=step.adjusted_p,
        )
        for (kind, factors, changes, count, values), step in zip(rows, steps, strict=True)
    )
    return FactorTable(metric, effects, tuple(confounded))


def contributions(trials: Sequence[Trial], a: Arm, b: Arm, clients: int) -> tuple[Contribution, ...]:
    """Return the contribution of each factor to b - a; in each block they add up to the difference exactly.

    Factors are changed one after another. The change that a factor makes is averaged over all orders whose intermediate
    arms were all measured; if every combination was, it is the Shapley value. The result is empty if no order was
    measured.
    """
    names = factor_names([each for each in trials if each.clients == clients])
    blocks = blocks_of([each for each in trials if each.clients == clients], names)
    start, end = cell_of(a, clients, names), cell_of(b, clients, names)
    changed = [name for name in names if dict(start)[name] != dict(end)[name]]
    if not changed or len(changed) > SHARE_FACTORS_MAX:
        return ()
    paths = [_path(start, end, order) for order in permutations(changed)]
    measured = set().union(*(cells.keys() for cells in blocks.values())) if blocks else set()
    paths = [path for path in paths if all(cell in measured for _, cell in path)]
    needed = {cell for path in paths for _, cell in path} | {start}
    complete = [cells for cells in blocks.values() if all(cell in cells for cell in needed)]
    if not paths or not complete:
        return ()
    values = {
        name: [mean(list(_changes_by(name, paths, start, cells))) or 0.0 for cells in complete]
        for name in changed
    }
    return tuple(
        Contribution(
            name,
            dict(start)[name],
            dict(end)[name],
            pseudo_median(values[name]),
            signed_rank_interval(values[name], LEVEL),
        )
        for name in changed
    )


def _path(start: Cell, end: Cell, order: Sequence[str]) -> list[tuple[str, Cell]]:
    """Return the cells from start to end in this order of changes, each with the factor whose change leads to it."""
    path, cell, goal = [], start, dict(end)
    for name in order:
        cell = _with_level(cell, name, goal[name])
        path.append((name, cell))
    return path


def _changes_by(
    name: str, paths: Iterable[Sequence[tuple[str, Cell]]], start: Cell, values: Mapping[Cell, float]
) -> Iterator[float]:
    for path in paths:
        before = start
        for changed, cell in path:
            if changed == name:
                yield values[cell] - values[before]
            before = cell


def _main(
    name: str, levels: Sequence[Level], cells: Sequence[Cell], blocks: Blocks
) -> Iterator[tuple[str, tuple[str, ...], tuple[tuple[Level, Level], ...], int, list[float]]]:
    """Yield the effect of each level over the first preceding level from which this factor alone changes."""
    for place, level in enumerate(levels):
        for before in levels[:place]:
            pairs = [
                (cell, other)
                for cell in cells
                if dict(cell)[name] == before and (other := _with_level(cell, name, level)) in cells
            ]
            if pairs:
                contrasts = [((+1, high), (-1, low)) for low, high in pairs]
                yield "main", (name,), ((before, level),), len(pairs), _contrast(contrasts, blocks)
                break


def _interactions(
    pair: tuple[str, str], levels: Mapping[str, Sequence[Level]], cells: Sequence[Cell], blocks: Blocks
) -> Iterator[tuple[str, tuple[str, ...], tuple[tuple[Level, Level], ...], int, list[float]]]:
    (f, g), (f0, g0) = pair, (levels[pair[0]][0], levels[pair[1]][0])
    for f1 in levels[f][1:]:
        for g1 in levels[g][1:]:
            squares = []
            for cell in cells:
                own = dict(cell)
                corners = (
                    _with_level(cell, f, f1),
                    _with_level(cell, g, g1),
                    _with_level(_with_level(cell, f, f1), g, g1),
                )
                if (own[f], own[g]) == (f0, g0) and all(corner in cells for corner in corners):
                    squares.append(((+1, corners[2]), (-1, corners[1]), (-1, corners[0]), (+1, cell)))
            if squares:
                yield "interaction", pair, ((f0, f1), (g0, g1)), len(squares), _contrast(squares, blocks)


def _contrast(contrasts: Sequence[Sequence[tuple[int, Cell]]], blocks: Blocks) -> list[float]:
    """Return the mean of the contrasts in each block that has all their cells."""
    needed = {cell for contrast in contrasts for _, cell in contrast}
    return [
        mean([sum(sign * values[cell] for sign, cell in contrast) for contrast in contrasts]) or 0.0
        for values in blocks.values()
        if all(cell in values for cell in needed)
    ]


def _with_level(cell: Cell, name: str, level: Level) -> Cell:
    return tuple((each, level if each == name else own) for each, own in cell)
