"""The headline of a load run: what its gates say, then what the load cost, in one or two sentences.

The first rule that holds decides the first sentence:

    nothing      no trial was measured
    stopped      the run ended before its end
    invalid      the generator is invalid: nothing is known of the server
    capacity     a ramp: the most users that each arm held
    losses       notifications were lost, or delivered twice
    disagree     an agreement test in which built-in clients and Locust differ
    not_compared an agreement test without a valid pair of trials somewhere
    agree        an agreement test without a difference
    missed       a gate was missed
    met          every gate held
    none         there is no gate

After `losses` comes the sentence of the next rule that holds, and after `capacity` what was lost up to it: gates that
are met, or that nobody asked for, hide no loss. Like gates, losses are counted in all trials, valid or not.

After `missed`, `met` and `none` comes what was found: with two arms or more in interleaved blocks, the headline of the
run's comparison (`app.lab.analysis.headline`); else the 95 % delay of each arm at the largest number of users.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.core.gate_verdict import GateVerdict
from app.core.messages import NOTHING, Message, count
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.headline import cause_clause, comparison_headline
from app.tools.load.gates import GateOutcome
from app.tools.load.levels import FIGURES, Level, title_of
from app.tools.load.result import Kind, LoadResult

P95 = "delay_ms_p95"


class Rule(StrEnum):
    """The rule that decided a headline; the module lists them in their order."""

    NOTHING = "nothing"
    STOPPED = "stopped"
    INVALID = "invalid"
    CAPACITY = "capacity"
    LOSSES = "losses"
    DISAGREE = "disagree"
    NOT_COMPARED = "not_compared"
    AGREE = "agree"
    MISSED = "missed"
    MET = "met"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class LoadHeadline:
    """A load run's headline: the rule, its sentence on validity, losses or gates, and what follows it."""

    rule: Rule
    sentence: Message | None
    """`None` only for `Rule.NONE`."""
    found: Message | None
    """Sentence on the load's cost, the comparison of arms, losses or gates; `None` where the first sentence suffices."""

    @property
    def whole(self) -> Message:
        """Both sentences."""
        if self.sentence is not None and self.found is not None:
            return Message("load.headline.both", {"first": self.sentence, "second": self.found})
        only = self.sentence or self.found
        assert only is not None
        return only


def load_headline(analysis: Analysis, result: LoadResult) -> LoadHeadline:
    """Return a load run's headline, by the first rule that holds."""
    if not result.levels:
        return LoadHeadline(Rule.NOTHING, Message("load.headline.nothing"), None)
    if not result.complete:
        trials = sum(len(each.trials) for each in result.levels)
        return LoadHeadline(Rule.STOPPED, Message("load.headline.stopped", {"n": trials}), None)
    if not result.is_valid:
        return LoadHeadline(Rule.INVALID, _invalid(result), None)
    if result.kind is Kind.RAMP:
        clauses = tuple(_capacity(result, arm) for arm in result.capacity)
        held = [each for each in result.levels if each.users <= (result.capacity[each.arm].users or 0)]
        return LoadHeadline(
            Rule.CAPACITY, Message("load.headline.clauses", {"clauses": clauses}), _losses(held)
        )
    judged = _judged(analysis, result)
    losses = _losses(result.levels)
    if losses is None:
        return judged
    has_more = judged.sentence is not None or judged.found is not None
    return LoadHeadline(Rule.LOSSES, losses, judged.whole if has_more else None)


def _judged(analysis: Analysis, result: LoadResult) -> LoadHeadline:
    """Return the headline by the agreement or the gates, with what was found."""
    if result.agreement:
        return _agreement(result)
    found = _found(analysis, result)
    missed = [each for each in result.gates if each.verdict is GateVerdict.MISSED]
    if missed:
        return LoadHeadline(Rule.MISSED, _missed(missed, len(result.gates)), found)
    if result.gates:
        gates = Message(
            "load.headline.met" if len(result.gates) > 1 else "load.headline.met.one",
            {"n": len(result.gates)},
        )
        return LoadHeadline(Rule.MET, gates, found)
    return LoadHeadline(Rule.NONE, None, found)


def _invalid(result: LoadResult) -> Message:
    trials = [each for level in result.levels for each in level.trials]
    left_out = [each for each in trials if not each.is_believable]
    if not left_out:  # Only the floors, which are no trials, speak against the generator.
        return Message("load.headline.invalid.floor")
    codes = Counter(code for each in left_out for code in dict.fromkeys(each.void_codes))
    cause = cause_clause(next((code for code, _ in codes.most_common(1)), ""))
    return Message("headline.invalid", {"cause": cause, "n": len(left_out), "of": len(trials)})


def _capacity(result: LoadResult, arm: str) -> Message:
    capacity = result.capacity[arm]
    last = max(level.users for level in result.levels if level.arm == arm)
    if capacity.is_unknown:
        key = "load.headline.capacity.unknown"
    elif capacity.users is None:
        key = "load.headline.capacity.none"
    elif capacity.gave_out_at is not None or capacity.users == last:
        key = "load.headline.capacity.least"
    else:
        key = "load.headline.capacity"
    return Message(key, {"arm": title_of(arm), "users": count(capacity.users or 0, "user")})


def _losses(levels: Sequence[Level]) -> Message | None:
    """Return the sentence on what each arm lost or delivered twice; `None` for nothing."""
    clauses = []
    for arm in dict.fromkeys(level.arm for level in levels):
        trials = [each for level in levels if level.arm == arm for each in level.trials]
        args: dict[str, object] = {"arm": title_of(arm), "of": sum(each.expected for each in trials)}
        if lost := sum(each.lost for each in trials):
            clauses.append(Message("headline.lost.arm", {**args, "n": lost}))
        if doubled := sum(each.duplicates for each in trials):
            clauses.append(Message("headline.doubled.arm", {**args, "n": doubled}))
    return Message("headline.losses", {"clauses": tuple(clauses)}) if clauses else None


def _agreement(result: LoadResult) -> LoadHeadline:
    verdicts = Counter(each.verdict for each in result.agreement)
    if GateVerdict.MISSED in verdicts:
        rule, n = Rule.DISAGREE, verdicts[GateVerdict.MISSED]
    elif GateVerdict.NOT_JUDGED in verdicts:
        rule, n = Rule.NOT_COMPARED, verdicts[GateVerdict.NOT_JUDGED]
    else:
        rule, n = Rule.AGREE, 0
    return LoadHeadline(rule, Message(f"load.headline.{rule}", {"n": n, "of": len(result.agreement)}), None)


def _missed(missed: list[GateOutcome], gates: int) -> Message:
    return Message(
        "load.headline.missed" if gates > 1 else "load.headline.missed.one",
        {"n": len(missed), "of": gates, "gates": tuple(map(_missed_clause, missed))},
    )


def _missed_clause(outcome: GateOutcome) -> Message:
    """Return a clause such as `p95 34 ms above 20 ms`."""
    gate, unit = outcome.gate, FIGURES[outcome.gate.name].unit
    name = Message(f"load.name.{gate.name}")
    if outcome.worst is None:
        return Message("load.missed.unknown", {"name": name})
    side = "above" if outcome.worst > gate.limit else "below" if outcome.worst < gate.limit else "at"
    limit = Message(f"load.limit.{unit or 'count'}", {"n": gate.limit})
    args = {"name": name, "value": _figure(outcome.worst, unit), "limit": limit}
    return Message(f"load.missed.{side}", args)


def _figure(value: float, unit: str) -> Message:
    """Return a figure with its unit, at most three digits, e.g. `18 ms`, `36 µs`, `1,065`."""
    if not unit:
        return Message("load.short.count", {"n": round(value)})
    return Message(f"load.short.{unit}", {"n": value})


def _found(analysis: Analysis, result: LoadResult) -> Message:
    arms = list(dict.fromkeys(level.arm for level in result.levels))
    if len(arms) > 1 and result.kind is Kind.LEVELS:
        return comparison_headline(analysis).sentence
    most = max(level.users for level in result.levels)
    at_most = [level for level in result.levels if level.users == most]
    if len(arms) == 1:
        held = bool(result.gates) and all(each.verdict is GateVerdict.HELD for each in result.gates)
        return Message(
            "load.headline.holds" if held else "load.headline.with",
            {"users": count(most, "user"), "figure": _p95(at_most[0])},
        )
    clauses = tuple(
        Message("load.headline.arm", {"arm": title_of(each.arm), "figure": _p95(each)}) for each in at_most
    )
    return Message("load.headline.arms", {"users": count(most, "user"), "clauses": clauses})


def _p95(level: Level) -> str | Message:
    value = FIGURES[P95].of(level)
    return NOTHING if value is None else _figure(value, "ms")
