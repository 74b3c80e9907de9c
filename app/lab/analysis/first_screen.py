"""The first screen of a run: a row for each count of clients, deliveries, what did not count, and what is open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.core.messages import Message, count
from app.core.plan.scenario import Arm
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.comparison.compare_arms import Comparison, Verdict
from app.lab.analysis.headline import Kind, cause, cause_clause, outcome
from app.lab.analysis.summary import AnalysedTrial, SummaryRow, summary_row
from app.lab.analysis.words import METRIC_KEYS, arm_title


@dataclass(frozen=True, slots=True)
class ArmFigures:
    """Figures of one arm at one count of clients."""

    arm: Arm
    counts: bool
    """False if no round counts: then `row` is of all rounds, to be labelled "seen, not counted"."""
    row: SummaryRow


@dataclass(frozen=True, slots=True)
class CountRow:
    """One count of clients: the figures of each arm, in the plan's order, and the verdicts on delay."""

    clients: int
    arms: tuple[ArmFigures, ...]
    verdicts: tuple[Comparison, ...]
    """Comparisons of delay of the first arm with each other one; empty with one arm."""
    cpu: tuple[Comparison, ...]
    """The same of server CPU per delivery."""

    @property
    def counts(self) -> bool:
        """Return False if the figures of an arm are to be labelled "seen, not counted"."""
        return all(each.counts for each in self.arms)


@dataclass(frozen=True, slots=True)
class FirstScreen:
    """Content of the first screen of a run below its headline."""

    rows: tuple[CountRow, ...]
    """Ascending by count of clients; counts without any measured round are left out."""
    deliveries: Message
    """A sentence on the deliveries of all rounds, e.g. `18,000 of 18,000 delivered; none lost, duplicated or out of order.`
    It says first how many of them count where not all do."""
    not_counted: Message | None
    """A sentence on rounds that do not count, with the most frequent cause; `None` if all count."""
    open_counts: tuple[int, ...]
    """Counts of clients for which more repetitions may decide, ascending."""


def first_screen(analysis: Analysis) -> FirstScreen:
    """Return the content of the first screen of a run's report."""
    rows = tuple(_count_rows(analysis))
    return FirstScreen(
        rows=rows,
        deliveries=_deliveries(analysis),
        not_counted=_not_counted(analysis),
        open_counts=tuple(row.clients for row in rows if not all(map(is_decided, row.verdicts))),
    )


def is_decided(comparison: Comparison) -> bool:
    """Return True if a difference or an equivalence was found."""
    return outcome(comparison) not in (Kind.UNDECIDED, Kind.INVALID)


def verdict_phrase(comparison: Comparison, *, planned: int) -> Message:
    """Return the verdict of a comparison of delay or CPU in a few words, e.g. `equal within ±0.24 ms`.

    `planned`: repetitions of the plan. An undecided comparison names how many of them count, unless all do.
    """
    kind, metric = outcome(comparison), METRIC_KEYS[comparison.metric]
    if kind in (Kind.LOWER_A, Kind.LOWER_B):
        winner = comparison.a if kind is Kind.LOWER_A else comparison.b
        interval = comparison.interval
        assert interval.low is not None
        assert interval.high is not None
        ends = sorted((abs(interval.low), abs(interval.high)))
        args: dict[str, object] = {"arm": arm_title(winner), "low": ends[0], "high": ends[1]}
        return Message(f"phrase.lower.{metric}", args)
    if kind is Kind.EQUIVALENT:
        return Message(f"phrase.equivalent.{metric}", {"n": comparison.margin})
    if comparison.verdict is Verdict.UNDECIDED and comparison.blocks_valid >= planned:
        return Message("phrase.undecided.all")
    if comparison.blocks_valid == comparison.blocks_complete:
        return Message("phrase.undecided.few", {"n": comparison.blocks_valid, "of": planned})
    key = "phrase.invalid" if comparison.verdict is Verdict.INVALID else "phrase.undecided"
    return Message(key, {"n": comparison.blocks_valid, "of": max(planned, comparison.blocks_complete)})


def _count_rows(analysis: Analysis) -> list[CountRow]:
    rows = []
    for clients in analysis.client_counts:
        figures = [_arm_figures(analysis, arm, clients) for arm in analysis.run.plan.arms]
        if all(each is None for each in figures):
            continue
        own = [each for each in analysis.comparisons if each.clients == clients]
        rows.append(
            CountRow(
                clients=clients,
                arms=tuple(each for each in figures if each is not None),
                verdicts=tuple(each for each in own if each.family == "confirmatory"),
                cpu=tuple(each for each in own if each.metric == "cpu_per_delivery_us"),
            )
        )
    return rows


def _arm_figures(analysis: Analysis, arm: Arm, clients: int) -> ArmFigures | None:
    """Return the figures of one arm at one count of clients; `None` if it was not measured there."""
    counted = analysis.row(arm, clients)
    if counted.trials:
        return ArmFigures(arm, counts=True, row=counted)
    seen = [each for each in analysis.trials if _is_of(each, arm, clients)]
    return ArmFigures(arm, counts=False, row=summary_row(arm, clients, seen)) if seen else None


def _is_of(trial: AnalysedTrial, arm: Arm, clients: int) -> bool:
    return trial.record.spec.arm.name == arm.name and trial.record.spec.clients == clients


def _deliveries(analysis: Analysis) -> Message:
    totals = analysis.totals
    args: dict[str, object] = {"n": totals.delivered, "of": totals.expected}
    counted = sum(each.delivered for each in analysis.summary)
    if counted != totals.delivered:
        args["counted"] = counted
    numbers: Sequence[tuple[str, int]] = [
        ("lost", totals.lost),
        ("duplicates", totals.duplicates),
        ("out_of_order", totals.out_of_order),
    ]
    if faults := tuple(Message(f"deliveries.{name}", {"n": number}) for name, number in numbers if number):
        args["faults"] = faults
    subject = "counted" if "counted" in args else "deliveries"
    return Message(f"{subject}.{'faults' if faults else 'whole'}", args)


def _not_counted(analysis: Analysis) -> Message | None:
    """Return the sentence on rounds that do not count: invalid ones, and valid ones of invalid repetitions."""
    left_out = sum(not each.in_comparison for each in analysis.trials)
    if not left_out:
        return None
    args: dict[str, object] = {"n": left_out, "of": count(analysis.totals.trials, "round")}
    found = cause(analysis)
    if found is None:
        return Message("not_counted.partial", args)
    return Message("not_counted", {**args, "cause": cause_clause(found[0])})
