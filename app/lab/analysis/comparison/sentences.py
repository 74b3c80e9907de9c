"""Comparison as a sentence, derived from its verdict, interval and margin alone."""

from __future__ import annotations

from app.core.messages import Message, count, interval
from app.lab.analysis.comparison.compare_arms import Comparison, Verdict
from app.lab.analysis.comparison.margins import BLOCKS_NEEDED_MAX
from app.lab.analysis.statistics.interval import Interval
from app.lab.analysis.words import METRIC_KEYS, arm_title, is_same_arm


def sentence(comparison: Comparison, *, noun: str = "client") -> Message:
    """Return the verdict in words, e.g. `SSE faster by 0.120 ms [0.050, 0.210] at 6 clients`. `noun`: for a client.

    A difference that an A/A run finds has a sentence of its own: one run in twenty finds one; more often means a fault.
    """
    where = count(comparison.clients, noun)
    if comparison.verdict is Verdict.INVALID:
        args = {"n": comparison.blocks_valid, "blocks": comparison.blocks_complete}
        verb = "is" if comparison.blocks_valid == 1 else "are"
        return Message(f"verdict.invalid.{verb}", {"metric": _metric(comparison), "where": where, **args})
    same = {"quantity": _quantity(comparison, comparison.margin)}
    if comparison.verdict is not Verdict.UNDECIDED:
        lower = _lower(comparison, where)
        return Message("verdict.both", {"verdict": lower, **same}) if comparison.equivalent else lower
    if comparison.equivalent:
        difference = _difference(comparison, comparison.equivalence_interval)
        return Message("verdict.equivalent", {"where": where, "difference": difference, **same})
    difference = _difference(comparison, comparison.interval)
    return Message(
        "verdict.undecided", {"needed": _needed(comparison), "where": where, "difference": difference}
    )


def difference_title(comparison: Comparison) -> str:
    """Return the title of the difference b - a: `Socket.IO - SSE`."""
    return f"{arm_title(comparison.b)} - {arm_title(comparison.a)}"


def _lower(comparison: Comparison, where: Message) -> Message:
    """Return the arm with the lower value, the difference as a positive number, and its interval with the same sign."""
    estimate, low, high = comparison.estimate, comparison.interval.low, comparison.interval.high
    assert estimate is not None
    assert low is not None
    assert high is not None
    if comparison.verdict is Verdict.LOWER_B:
        estimate, low, high = -estimate, -high, -low
    winner = comparison.a if comparison.verdict is Verdict.LOWER_A else comparison.b
    same = ".same" if is_same_arm(comparison.a, comparison.b) else ""
    args = {"arm": arm_title(winner), "n": estimate, "i": interval(low, high), "where": where}
    return Message(f"verdict.{METRIC_KEYS[comparison.metric]}{same}", args)


def _difference(comparison: Comparison, shown: Interval) -> Message:
    """Return the estimate with the interval that decided, and its level where that is not the usual 95 %."""
    if comparison.estimate is None:
        return Message("difference.none", {"metric": _metric(comparison)})
    args = {
        "arm": arm_title(comparison.b),
        "arm1": arm_title(comparison.a),
        "quantity": _quantity(comparison, comparison.estimate),
        "n": round(100 * shown.level),
        "i": interval(shown.low, shown.high),
    }
    if shown.low is None:
        return Message("difference.few", args)
    return Message("difference" if shown.level == comparison.interval.level else "difference.level", args)


def _needed(comparison: Comparison) -> Message:
    blocks = comparison.more_blocks or 1
    if comparison.blocks + blocks >= BLOCKS_NEEDED_MAX:
        return Message("needed.many", {"n": BLOCKS_NEEDED_MAX})
    return Message("needed.block" if blocks == 1 else "needed.blocks", {"n": blocks})


def _metric(comparison: Comparison) -> Message:
    return Message(f"metric.{METRIC_KEYS[comparison.metric]}")


def _quantity(comparison: Comparison, value: float | None) -> Message:
    return Message(f"quantity.{METRIC_KEYS[comparison.metric]}", {"n": value})
