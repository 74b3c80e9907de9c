"""What is said of a run in the same words wherever it is shown: what became of it, who received, a verdict, a warning."""

from __future__ import annotations

from app.core.trial import Severity
from app.lab.analysis.analyse import Analysis, WarningGroup
from app.lab.analysis.comparison.compare_arms import Comparison, Verdict
from app.lab.analysis.words import arm_title, count_of, listing

TRIALS_NAMED_MAX = 8
"""More indexes of trials than this do not help on a terminal; `result.json` has them all."""


def headline(analysis: Analysis) -> str:
    """What became of every notification, void trials included."""
    totals, run = analysis.totals, analysis.run
    state = "complete" if run.complete else "INCOMPLETE"
    lost = f"{totals.lost} lost" + (
        f" ({totals.lost_in_void} of them in void trials)" if totals.lost_in_void else ""
    )
    void = f", {totals.void} of them void" if totals.void else ""
    return (
        f"Run {run.id} ({state}, {who(analysis)}): {count_of(totals.trials, 'trial')}{void}; "
        f"{totals.delivered} of {totals.expected} delivered, {lost}, "
        f"{totals.duplicates} duplicates, {totals.out_of_order} out of order."
    )


def who(analysis: Analysis) -> str:
    """What received: phones with their number, or clients."""
    kind = "simulated" if analysis.run.simulated else "real"
    if not analysis.phones:
        return f"{kind} clients"
    kind = "simulated phone" if analysis.run.simulated else "phone"
    return count_of(len(analysis.phones), kind)


def pair_title(comparison: Comparison) -> str:
    """Which arms are compared, and how."""
    return f"{arm_title(comparison.b)} minus {arm_title(comparison.a)}, paired by block"


def verdict_words(comparison: Comparison) -> str:
    """The verdict's code with the arm's name in it."""
    lower = {Verdict.LOWER_A: comparison.a, Verdict.LOWER_B: comparison.b}.get(comparison.verdict)
    return f"{arm_title(lower)} lower" if lower else comparison.verdict.value


def warning_lines(group: WarningGroup) -> tuple[str, str]:
    """A group of warnings in two lines: what was seen and where, and what to do."""
    word = "VOID" if group.severity is Severity.VOID else "note"
    named = [str(trial) for trial in group.trials[:TRIALS_NAMED_MAX]]
    rest = len(group.trials) - len(named)
    where = listing([*named, f"{rest} more"]) if rest else listing(named)
    if len(group.trials) == 1:
        return f"{word} {group.code} (trial {where}): {group.text}", group.advice
    return f"{word} {group.code} (trials {where}), as in {named[0]}: {group.text}", group.advice
