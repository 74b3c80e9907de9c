"""The headline of a run: one sentence on its outcome, which every form of report begins with.

The first rule that holds decides (`headline`):

    losses             a valid round lost notifications, or delivered some twice
    stopped            the run ended before its plan was done
    invalid            no count of clients has enough valid repetitions
    lower_a, lower_b   one of two arms has the lower delay at every count of clients
    equivalent         all arms are equivalent at every count of clients, whatever small differences were found
    undecided          nothing is decided
    mixed              the outcome differs between counts of clients, or between arms
    alone              there is one arm, so that nothing is compared

"Round" stands for a trial and "repetition" for a block: readers of the first screen need no other words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.core.messages import Message, count
from app.core.trial import Severity
from app.i18n import LANGUAGES, REPORT, catalogue
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.comparison.compare_arms import Comparison, Verdict
from app.lab.analysis.words import arm_title, is_same_arm


class Kind(StrEnum):
    """The rule that decided a headline; the module lists them in their order."""

    LOSSES = "losses"
    STOPPED = "stopped"
    INVALID = "invalid"
    LOWER_A = "lower_a"
    LOWER_B = "lower_b"
    EQUIVALENT = "equivalent"
    UNDECIDED = "undecided"
    MIXED = "mixed"
    ALONE = "alone"


@dataclass(frozen=True, slots=True)
class Headline:
    """A run's headline, and the rule that it comes from."""

    kind: Kind
    sentence: Message


OUTCOMES = (Kind.LOWER_A, Kind.LOWER_B, Kind.EQUIVALENT, Kind.UNDECIDED, Kind.INVALID)
"""Outcomes of one comparison, in the order in which a sentence names them."""


def headline(analysis: Analysis) -> Headline:
    """Return a run's headline, by the first rule that holds."""
    return _losses(analysis) or _stopped(analysis) or comparison_headline(analysis)


def comparison_headline(analysis: Analysis) -> Headline:
    """Return the headline by the comparisons of delay alone, whatever was lost and however the run ended."""
    return _invalid(analysis) or _compared(analysis)


def outcome(comparison: Comparison) -> Kind:
    """Return the outcome of one comparison: one of `OUTCOMES`.

    A difference that is also within the equivalence margin counts as a difference.
    """
    if comparison.verdict is Verdict.UNDECIDED and comparison.equivalent:
        return Kind.EQUIVALENT
    return Kind(comparison.verdict)


def cause(analysis: Analysis) -> tuple[str, int] | None:
    """Return the warning code that makes most trials invalid, and how many; `None` if no trial is invalid."""
    codes = Counter(
        code
        for each in analysis.trials
        for code in {warning.code for warning in each.warnings if warning.severity is Severity.VOID}
    )
    return next(iter(codes.most_common(1)), None)


def cause_clause(code: str) -> Message:
    """Return a clause on why trials with the warning `code` do not count, e.g. `other programs used the CPU`.

    For a code that the catalogue lacks, which a run from another version may have, it is a general clause.
    """
    key = f"cause.{code}"
    return Message(key if key in catalogue(LANGUAGES[0], REPORT) else "cause.unknown")


def _losses(analysis: Analysis) -> Headline | None:
    clauses = []
    for arm in analysis.run.plan.arms:
        trials = [each for each in analysis.trials if each.valid and each.record.spec.arm.name == arm.name]
        expected = sum(each.metrics.expected for each in trials)
        lost = sum(each.metrics.lost for each in trials)
        doubled = sum(each.metrics.duplicates for each in trials)
        args: dict[str, object] = {"arm": arm_title(arm), "of": expected}
        if lost:
            clauses.append(Message("headline.lost.arm", {**args, "n": lost}))
        if doubled:
            clauses.append(Message("headline.doubled.arm", {**args, "n": doubled}))
    return Headline(Kind.LOSSES, Message("headline.losses", {"clauses": tuple(clauses)})) if clauses else None


def _stopped(analysis: Analysis) -> Headline | None:
    if analysis.run.complete:
        return None
    plan = analysis.run.plan
    args: dict[str, object] = {
        "n": len(analysis.trials),
        "of": plan.blocks * len(plan.client_counts) * len(plan.arms),
        "done": _blocks_done(analysis),
        "planned": plan.blocks,
    }
    found = {outcome(each) for each in analysis.verdicts}
    if found <= {Kind.UNDECIDED, Kind.INVALID}:
        return Headline(Kind.STOPPED, Message("headline.stopped", args))
    args["sentence"] = _compared(analysis).sentence
    return Headline(Kind.STOPPED, Message("headline.stopped.until_then", args))


def _blocks_done(analysis: Analysis) -> int:
    """Return how many repetitions every arm has done at every count of clients, those of the plan at most."""
    plan = analysis.run.plan
    done = Counter((each.record.spec.arm.name, each.record.spec.clients) for each in analysis.trials)
    return min(plan.blocks, *(done[arm.name, clients] for arm in plan.arms for clients in plan.client_counts))


def _invalid(analysis: Analysis) -> Headline | None:
    if not analysis.verdicts or any(outcome(each) is not Kind.INVALID for each in analysis.verdicts):
        return None
    if (found := cause(analysis)) is None:  # Idle windows alone are invalid.
        return Headline(Kind.INVALID, Message("headline.invalid.few"))
    args = {"cause": cause_clause(found[0]), "n": found[1], "of": analysis.totals.trials}
    return Headline(Kind.INVALID, Message("headline.invalid", args))


def _compared(analysis: Analysis) -> Headline:
    """Return the headline of a run by its comparisons of delay."""
    pairs: dict[str, list[Comparison]] = {}
    for each in analysis.verdicts:
        pairs.setdefault(each.b.name, []).append(each)
    if not pairs:
        return Headline(Kind.ALONE, _alone(analysis))
    of_pairs = [_uniform(outcome(each) for each in pair) for pair in pairs.values()]
    kind = _uniform(of_pairs)
    if kind not in (Kind.LOWER_A, Kind.LOWER_B) and all(each.equivalent for each in analysis.verdicts):
        margins = [each.margin for each in analysis.verdicts if each.margin is not None]
        arms = tuple(map(arm_title, analysis.run.plan.arms))
        sentence = Message("headline.equivalent", {"arms": arms, "n": max(margins, default=None)})
        return Headline(Kind.EQUIVALENT, sentence)
    if len(pairs) > 1:
        return Headline(kind, _of_several(list(pairs.values()), of_pairs))
    only = next(iter(pairs.values()))
    if kind in (Kind.LOWER_A, Kind.LOWER_B):
        return Headline(kind, _lower(analysis, only))
    if kind is Kind.UNDECIDED:
        return Headline(kind, _undecided(analysis, only))
    return Headline(kind, _by_counts(only, analysis.noun))


def _uniform(kinds: Iterable[Kind]) -> Kind:
    """Return the one kind that all are; `MIXED` if they differ."""
    found = set(kinds)
    return found.pop() if len(found) == 1 else Kind.MIXED


def _alone(analysis: Analysis) -> Message:
    rows = [row for row in analysis.summary if row.delay_ms_p50 is not None]
    if not rows:
        return Message("headline.alone.nothing")
    last = rows[-1]
    args = {"arm": arm_title(last.arm), "n": last.delay_ms_p50, "where": count(last.clients, analysis.noun)}
    return Message("headline.alone", args)


def _lower(analysis: Analysis, pair: Sequence[Comparison]) -> Message:
    """Return the sentence for an arm that has the lower delay at every count, with figures at the largest one."""
    last = max(pair, key=lambda each: each.clients)
    estimate, low, high = last.estimate, last.interval.low, last.interval.high
    assert estimate is not None
    assert low is not None
    assert high is not None
    is_a = last.verdict is Verdict.LOWER_A
    winner, other = (last.a, last.b) if is_a else (last.b, last.a)
    args = {
        "arm": arm_title(winner),
        "n": analysis.row(winner, last.clients).delay_ms_p50,
        "n1": analysis.row(other, last.clients).delay_ms_p50,
        "low": low if is_a else -high,
        "high": high if is_a else -low,
        "level": 100 * last.interval.level,
        "where": count(last.clients, analysis.noun),
    }
    if is_same_arm(last.a, last.b):
        return Message("headline.lower.same", args)
    if all(each.equivalent for each in pair):
        return Message("headline.lower.small", args)
    return Message("headline.lower", args)


def _undecided(analysis: Analysis, pair: Sequence[Comparison]) -> Message:
    """Return the sentence for two arms of which nothing is decided, with medians where the most repetitions count."""
    last = max(pair, key=lambda each: (each.blocks > 0, each.clients))
    medians = [analysis.row(arm, last.clients).delay_ms_p50 for arm in (last.a, last.b)]
    if None in medians:
        return Message("headline.undecided.nothing")
    args = {
        "count": last.blocks,
        "arm": arm_title(last.a),
        "n": medians[0],
        "arm1": arm_title(last.b),
        "n1": medians[1],
        "where": count(last.clients, analysis.noun),
    }
    return Message("headline.undecided", args)


def _by_counts(pair: Sequence[Comparison], noun: str) -> Message:
    """Return the sentence for two arms whose outcome differs between counts of clients."""
    arms = (arm_title(pair[0].a), arm_title(pair[0].b))
    winner = {Kind.LOWER_A: arms[0], Kind.LOWER_B: arms[1]}
    clauses = []
    for kind in OUTCOMES:
        counts = sorted(each.clients for each in pair if outcome(each) is kind)
        if not counts:
            continue
        where = counts_phrase(counts, noun)
        if kind in winner:
            clauses.append(Message("headline.at.lower", {"arm": winner[kind], "where": where}))
        else:
            clauses.append(Message(f"headline.at.{kind}", {"where": where}))
    return Message("headline.mixed", {"arms": arms, "clauses": tuple(clauses)})


def _of_several(pairs: Sequence[Sequence[Comparison]], kinds: Sequence[Kind]) -> Message:
    """Return the sentence for three or more arms: each first arm of a comparison against its other ones."""
    by_base: dict[str, list[tuple[Comparison, Kind]]] = {}
    for pair, kind in zip(pairs, kinds, strict=True):
        by_base.setdefault(arm_title(pair[0].a), []).append((pair[0], kind))
    if len(by_base) == 1:
        ((base, own),) = by_base.items()
        return Message("headline.several", {"arm": base, "clauses": _than(own)})
    sides = tuple(
        Message("headline.side", {"arm": base, "clauses": _than(own)}) for base, own in by_base.items()
    )
    return Message("headline.clauses", {"clauses": sides})


def _than(compared: Sequence[tuple[Comparison, Kind]]) -> tuple[Message, ...]:
    """Return a clause for each outcome of the comparisons with one arm, e.g. `faster than Socket.IO`."""
    clauses = []
    for kind in (*OUTCOMES, Kind.MIXED):
        others = tuple(arm_title(pair.b) for pair, each in compared if each is kind)
        if others:
            clauses.append(Message(f"headline.than.{kind}", {"arms": others}))
    return tuple(clauses)


def counts_phrase(counts: Sequence[int], noun: str) -> Message:
    """Return the phrase `1 and 6 clients`. `counts`: at least one."""
    return count(counts[0], noun) if len(counts) == 1 else Message(f"list.{noun}s", {"n": tuple(counts)})
