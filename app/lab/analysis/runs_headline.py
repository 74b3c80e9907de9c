"""The headline of a comparison of runs: one sentence on what changed against the first run.

The first rule that holds decides:

    nothing     the runs have no figure in common
    worse       a figure got worse
    better      a figure got better
    unchanged   every figure is equivalent or not decided

With several changes, the sentence has the values of one: of delay before CPU before jitter, and of these the largest in
proportion to the first run. Differences between arms do not count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from app.core.messages import Message, Text, count
from app.lab.analysis.compare_runs import METRICS, Change, RunShift
from app.lab.analysis.words import METRIC_KEYS, METRIC_UNITS, arm_title


def runs_headline(rows: Sequence[RunShift], names: Mapping[str, Text], noun: str) -> Message:
    """Return the headline. `names`: those of the later runs by id; `noun`: "client" or "phone"."""
    own = [each for each in rows if each.less is None]
    if not own:
        return Message("compare.title.nothing")
    for change in (Change.WORSE, Change.BETTER):
        if found := [each for each in own if outcome(each) == change]:
            shown = min(found, key=_rank)
            run = Message("compare.title.run", {"run": names[shown.run]}) if len(names) > 1 else ""
            args = {"n": len(found), "of": len(own), "change": _values(shown, run, noun)}
            return Message(f"compare.title.{change}", args)
    counts = dict(sorted(Counter(map(outcome, own)).items()))
    return Message("compare.title.unchanged", {"of": len(own), "counts": counts})


def outcome(row: RunShift) -> str:
    """Return `equivalent` for a change within the margin, whatever the interval excludes, else the change."""
    return "equivalent" if row.equivalent else row.change.value


def _values(row: RunShift, run: Text, noun: str) -> Message:
    low, high = row.interval.low, row.interval.high
    assert low is not None
    assert high is not None
    args = {
        "metric": Message(f"compare.metric.{METRIC_KEYS[row.metric]}"),
        "arm": arm_title(row.arm),
        "where": count(row.clients, noun),
        "n": row.base_median,
        "n1": row.median,
        "unit": METRIC_UNITS[row.metric],
        "low": min(abs(low), abs(high)),
        "high": max(abs(low), abs(high)),
        "level": 100 * row.interval.level,
        "run": run,
    }
    return Message(f"compare.title.{row.change}.values", args)


def _rank(row: RunShift) -> tuple[int, float]:
    share = abs(row.estimate) / row.base_median if row.base_median > 0 else float("inf")
    return METRICS.index(row.metric), -share
