"""Estimate of the blocks, and of their time, with which a new run may decide what a run left open."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import ceil

from app.lab.analysis.analyse import Analysis
from app.lab.analysis.comparison.margins import BLOCKS_MIN, BLOCKS_NEEDED_MAX


@dataclass(frozen=True, slots=True)
class MoreBlocks:
    """A new run by the same plan with more blocks."""

    blocks: int
    minutes: int
    """Whole minutes, rounded up."""


def more_blocks(analysis: Analysis, open_counts: Collection[int]) -> MoreBlocks | None:
    """Return how many blocks a new run needs to decide `open_counts` with a power of about 80 %.

    `open_counts`: counts of clients of the run, at least one. `None` if so many blocks are needed that a longer run is
    not the way to an answer. A run that was stopped is to be done whole first: few blocks tell little of the scatter. A
    block takes as long as those of this run did on average, idle windows and repetitions included.
    """
    plan = analysis.run.plan
    needed = BLOCKS_MIN
    if analysis.run.complete:
        open_ones = (each for each in analysis.verdicts if each.clients in open_counts)
        needed = max(needed, *(each.blocks + (each.more_blocks or 0) for each in open_ones))
    if needed >= BLOCKS_NEEDED_MAX:
        return None
    blocks = max(needed, plan.blocks)
    rounds = blocks * len(plan.client_counts) * len(plan.arms)
    return MoreBlocks(blocks, ceil(rounds * _round_s(analysis) / 60))


def _round_s(analysis: Analysis) -> float:
    """Return the mean time from the start of a trial that is no idle window to the start of the next, in seconds."""
    trials = analysis.run.trials
    first_us, last_us = min(each.started_us for each in trials), max(each.ended_us for each in trials)
    return (last_us - first_us) / 1e6 / max(1, len(analysis.trials))
