"""Comparison as a sentence, derived from its verdict, interval and margin alone."""

from __future__ import annotations

from app.lab.analysis.comparison.compare_arms import Comparison, Verdict
from app.lab.analysis.comparison.margins import BLOCKS_NEEDED_MAX
from app.lab.analysis.statistics.interval import Interval
from app.lab.analysis.words import METRIC_WORDS, arm_title, count_of, interval, is_same_arm, number

SAME_ARMS = " (the arms are the same: a false alarm, or something disturbed the run)"
"""Appended to a difference that an A/A run finds. One run in twenty finds one; more often means a fault."""


def sentence(comparison: Comparison, *, noun: str = "client") -> str:
    """Return the verdict in words, e.g. `SSE faster by 0.120 ms [0.050, 0.210] at 6 clients`. `noun`: for a client."""
    where = f"at {count_of(comparison.clients, noun)}"
    if comparison.verdict is Verdict.INVALID:
        verb = "is" if comparison.blocks_valid == 1 else "are"
        return (
            f"{METRIC_WORDS[comparison.metric].short} invalid {where}: only {comparison.blocks_valid} of "
            f"{count_of(comparison.blocks_complete, 'block')} {verb} valid, see the warnings"
        )
    same = f"equivalent within ±{_quantity(comparison, comparison.margin)}"
    if comparison.verdict is not Verdict.UNDECIDED:
        text = f"{_lower(comparison)} {where}"
        return f"{text}; {same}" if comparison.equivalent else text
    if comparison.equivalent:
        return f"{same} {where}: {_difference(comparison, comparison.equivalence_interval)}"
    return f"undecided ({_needed(comparison)}) {where}: {_difference(comparison, comparison.interval)}"


def difference_title(comparison: Comparison) -> str:
    """Return the title of the difference b - a: `Socket.IO - SSE`."""
    return f"{arm_title(comparison.b)} - {arm_title(comparison.a)}"


def _lower(comparison: Comparison) -> str:
    """Return the arm with the lower value, the difference as a positive number, and its interval with the same sign."""
    words = METRIC_WORDS[comparison.metric]
    estimate, low, high = comparison.estimate, comparison.interval.low, comparison.interval.high
    assert estimate is not None
    assert low is not None
    assert high is not None
    if comparison.verdict is Verdict.LOWER_B:
        estimate, low, high = -estimate, -high, -low
    winner = comparison.a if comparison.verdict is Verdict.LOWER_A else comparison.b
    note = SAME_ARMS if is_same_arm(comparison.a, comparison.b) else ""
    return f"{arm_title(winner)} {words.lower} by {number(estimate)} {words.unit}{words.of} {interval(low, high)}{note}"


def _difference(comparison: Comparison, shown: Interval) -> str:
    """Return the estimate with the interval that decided, and its level where that is not the usual 95 %."""
    if comparison.estimate is None:
        return f"no valid block gives {METRIC_WORDS[comparison.metric].short}"
    found = f"{difference_title(comparison)} = {_quantity(comparison, comparison.estimate)}"
    if shown.low is None:
        return f"{found}, too few blocks for an interval"
    level = "" if shown.level == comparison.interval.level else f"{100 * shown.level:.0f} % interval "
    return f"{found} {level}{interval(shown.low, shown.high)}"


def _needed(comparison: Comparison) -> str:
    count = comparison.more_blocks or 1
    if comparison.blocks + count >= BLOCKS_NEEDED_MAX:
        return f"about {BLOCKS_NEEDED_MAX} or more blocks needed"
    return f"about {count} more {'block' if count == 1 else 'blocks'} needed"


def _quantity(comparison: Comparison, value: float | None) -> str:
    words = METRIC_WORDS[comparison.metric]
    return f"{number(value)} {words.unit}{words.of}"
