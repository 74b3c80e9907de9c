"""Cost of the hop over Redis: block differences between the VPS study's configurations, with exact intervals.

The study has one run of each configuration, so its differences have no interval. Trial medians are compared, never
pooled arrivals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from app.core.messages import Message
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.statistics.interval import Interval
from app.lab.analysis.statistics.signed_rank import pseudo_median, signed_rank_interval
from app.lab.studies.published import study_of
from app.lab.studies.redis import STUDY
from app.tools.load.levels import Level
from app.tools.load.trial_line import TrialLine
from app.tools.load.vps import column_of
from app.tools.load.vps_rows import REDIS_CPU, SERVER_CPU

LEVEL = 0.95

Values = Mapping[tuple[str, int, int], float]
"""Values by arm, users and block."""


@dataclass(frozen=True, slots=True)
class Hop:
    """Cost of one configuration over another: the block differences of one figure."""

    over: str
    """The arm that is subtracted."""
    arm: str
    users: int
    figure: Message
    unit: str
    published: float | None
    """The study's difference between its two runs, in the same unit; it has no interval."""
    blocks: int
    estimate: float | None
    """Hodges and Lehmann's estimate."""
    interval: Interval
    """Exact 95 % confidence interval."""


def hops_of(analysis: Analysis, levels: Sequence[Level], redis_us: Values) -> tuple[Hop, ...]:
    """Return C2 and C3 over C1, and C3 over C2, for each transport and number of users."""
    cpu_us = {
        (each.record.spec.arm.name, each.record.spec.clients, each.record.spec.block): value
        for each in analysis.trials
        if each.in_comparison and (value := each.cpu.per_delivery_us) is not None
    }
    delays = _by_block(levels, lambda line: line.delays.kernel.quantile_ms(0.5))
    means = _by_block(levels, lambda line: line.delays.kernel.mean_ms)
    figures = (
        ("study.row.delivery_p50", "ms", delays, "delivery_ms_p50"),
        ("study.row.delivery_mean", "ms", means, "delivery_ms_mean"),
        (SERVER_CPU, "us", cpu_us, None),
        (REDIS_CPU, "us", redis_us, None),
    )
    pairs = [
        (a, b)
        for a in levels
        for b in levels
        if (a.users, a.transport) == (b.users, b.transport) and column_of(a.arm) < column_of(b.arm)
    ]
    return tuple(
        _hop(a, b, Message(name), unit, values, key) for a, b in pairs for name, unit, values, key in figures
    )


def _by_block(levels: Sequence[Level], of: Callable[[TrialLine], float | None]) -> Values:
    return {
        (line.arm, line.users, line.block): value
        for level in levels
        for line in level.valid_trials
        if (value := of(line)) is not None
    }


def _hop(a: Level, b: Level, figure: Message, unit: str, values: Values, key: str | None) -> Hop:
    differences = [
        value - values[a.arm, a.users, block]
        for (arm, users, block), value in values.items()
        if (arm, users) == (b.arm, b.users) and (a.arm, a.users, block) in values
    ]
    published = None
    if key is not None:
        stress = study_of(STUDY)["stress"][key]
        published = round(stress[column_of(b.arm)] - stress[column_of(a.arm)], 6)
    return Hop(
        a.arm,
        b.arm,
        a.users,
        figure,
        unit,
        published,
        len(differences),
        pseudo_median(differences),
        signed_rank_interval(differences, LEVEL),
    )
