"""Statements on a run and on a comparison of runs, in the same words in every form of report."""

from __future__ import annotations

from collections.abc import Mapping

from app.core.gate_verdict import GateVerdict
from app.core.messages import Message, Text, count, interval
from app.lab.analysis.analyse import Analysis, WarningGroup
from app.lab.analysis.compare_runs import Change, RunShift
from app.lab.analysis.comparison.compare_arms import Comparison, Verdict
from app.lab.analysis.runs_gate import RunsGate
from app.lab.analysis.validity.trial_warnings import advice, seen
from app.lab.analysis.words import METRIC_KEYS, METRIC_UNITS, arm_title, clients, metric

P_SHOWN_MIN = 0.001

FIGURES_NAMED_MAX = 3

TRIALS_NAMED_MAX = 8
"""More indexes of trials than this do not help on a terminal; `result.json` has them all."""


def counts_sentence(analysis: Analysis) -> Message:
    """Return one sentence that counts all trials and deliveries of a run, invalid trials included."""
    totals, run = analysis.totals, analysis.run
    lost = "counts_sentence.lost_in_void" if totals.lost_in_void else "counts_sentence.lost"
    return Message(
        "counts_sentence",
        {
            "run": run.id,
            "state": Message("counts_sentence.complete" if run.complete else "counts_sentence.incomplete"),
            "who": receivers(analysis),
            "trials": Message("counts_sentence.void", {"trials": totals.trials, "n": totals.void})
            if totals.void
            else count(totals.trials, "trial"),
            "n": totals.delivered,
            "n1": totals.expected,
            "lost": Message(lost, {"n": totals.lost, "n1": totals.lost_in_void}),
            "n2": totals.duplicates,
            "n3": totals.out_of_order,
        },
    )


def receivers(analysis: Analysis) -> Message:
    """Return what kind of clients received, with the number of phones."""
    if not analysis.phones:
        return Message("who.simulated" if analysis.run.simulated else "who.real")
    return count(len(analysis.phones), "simulated_phone" if analysis.run.simulated else "phone")


def pair_title(comparison: Comparison) -> Message:
    """Return the title of a comparison of two arms."""
    return Message("terminal.pair", {"arm": arm_title(comparison.b), "arm1": arm_title(comparison.a)})


def verdict_words(comparison: Comparison) -> Message:
    """Return the verdict in few words, with the arm's name where one is lower."""
    lower = {Verdict.LOWER_A: comparison.a, Verdict.LOWER_B: comparison.b}.get(comparison.verdict)
    if lower is None:
        return Message(f"cell.{comparison.verdict}")
    return Message("cell.lower", {"arm": arm_title(lower)})


def warning_lines(group: WarningGroup) -> tuple[Message, Message]:
    """Return two lines on a group of warnings: what was seen and in which trials, and what to do."""
    first, named = group.first, group.trials[:TRIALS_NAMED_MAX]
    rest = len(group.trials) - len(named)
    args = {
        "code": first.code,
        "trials": (*named, Message("warning.more", {"n": rest})) if rest else named,
        "first": named[0],
        "text": seen(first),
    }
    return Message(f"warning.{first.severity}.{'one' if len(group.trials) == 1 else 'many'}", args), advice(
        first
    )


def gate_sentence(gate: RunsGate, names: Mapping[str, Text], noun: str) -> Message:
    """Return the sentence on the gate of a comparison. `names`: those of the later runs by id."""
    args: dict[str, object] = {"of": len(gate.expected), "worse": gate.worse, "n": len(gate.unjudged)}
    if gate.verdict is GateVerdict.NOT_JUDGED and not gate.unjudged:
        return Message("compare.gate.nothing")
    named = [
        Message(
            "compare.gate.figure",
            {
                "metric": Message(f"compare.metric.{METRIC_KEYS[each.metric]}"),
                "arm": arm_title(each.arm),
                "where": count(each.clients, noun),
                "run": Message("compare.title.run", {"run": names[each.run]}) if len(names) > 1 else "",
            },
        )
        for each in gate.unjudged[:FIGURES_NAMED_MAX]
    ]
    if rest := len(gate.unjudged) - len(named):
        named.append(Message("warning.more", {"n": rest}))
    return Message(f"compare.gate.{gate.verdict}", {**args, "figures": tuple(named)})


def p_value(p: float) -> Text:
    """Return a p value for display, a small one as "< 0.001", so that it is not shown as 0."""
    return Message("cell.below", {"n": P_SHOWN_MIN}) if p < P_SHOWN_MIN else p


def subject(row: RunShift) -> str:
    """Return the subject of a row: an arm (`SSE`), or a difference of arms (`Socket.IO - SSE`)."""
    return arm_title(row.arm) if row.less is None else f"{arm_title(row.arm)} - {arm_title(row.less)}"


def change_word(row: RunShift) -> Message:
    """Return the change in one word. Differences between arms are "higher" or "lower", because "worse" means nothing for them."""
    if row.less is None:
        return Message(f"compare.{row.change}")
    return Message(f"compare.{DIRECTIONS[row.change]}")


def change_sentence(row: RunShift, run: Text = None) -> Message:
    """Return a sentence on a row's change, based on its intervals only. `run`: the later run's name, else its id."""
    share = row.estimate / row.base_median if row.base_median > 0 else None
    unit = METRIC_UNITS[row.metric]
    return Message(
        "compare.change",
        {
            "metric": metric(row.metric),
            "subject": subject(row),
            "clients": clients(row.clients),
            "change": Message(f"compare.{DIRECTIONS[row.change]}"),
            "n": row.estimate,
            "unit": unit,
            "share": "" if share is None else Message("compare.share", {"n": 100 * share}),
            "interval": interval(row.interval.low, row.interval.high),
            "run": row.run if run is None else run,
            "same": Message("compare.equivalent", {"n": row.margin, "unit": unit}) if row.equivalent else "",
        },
    )


DIRECTIONS = {Change.WORSE: "higher", Change.BETTER: "lower", Change.UNDECIDED: "undecided"}
