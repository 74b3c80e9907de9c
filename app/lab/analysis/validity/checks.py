"""Whether a trial's figures may be believed: typed warnings, from stored data alone.

The runner asks after each trial, and repeats the block when there is a VOID; the analysis asks again on each
re-draw, and gets the same answer. What is judged here is the instrument, never the result: a transport that loses
notifications is slow or dear must be able to say so. Hence:

    void   the figures do not mean what they say: source or clock out of bounds, clients gone, trial cut short,
           other programs on the machine that took half of it
    note   something to know beside the figures, which stand: lost and late ones, a slow client loop, other load

Limits are those of `measurement.md` (section 2, void rules), with three departures. Two are for trials of a second on a
machine that server and clients share: a slow client loop is a note, since it is a condition that all arms have in
common; and other load is a note from 2 % of a core on and void from half of the machine on. The third: missing kernel
stamps are a note, since no verdict rests on them.
"""

from __future__ import annotations

from app.core.plan.scenario import Plan
from app.core.trial import Severity, TrialRecord, TrialWarning
from app.lab.analysis.metrics.trial_figures import TrialFigures, figures_of
from app.lab.analysis.validity.lifecycle import conduct_warnings, phone_warnings
from app.lab.analysis.validity.machine import machine_warnings
from app.lab.analysis.validity.samples import instrument_warnings, result_warnings, sample_warnings
from app.lab.analysis.validity.signatures import CODES as SIGNATURES
from app.lab.analysis.validity.signatures import signatures

OWN_CODES = frozenset(
    {
        *("incomplete", "disconnected", "source_late", "clock_wide", "negative_delay", "wrong_transport"),
        *("samples_left_out", "lost_or_late", "client_slow", "machine_busy", "disturbed"),
        *("kernel_stamps_missing", "cpu_coarse", "not_recorded"),
        *("asleep", "reloaded", "clock_step", "phone_silent", "samples_missing"),
        *SIGNATURES,
    }
)
"""What is found out here; a stored warning with one of these codes gives way to the one found now."""


def check_trial(
    record: TrialRecord, plan: Plan, figures: TrialFigures | None = None
) -> tuple[TrialWarning, ...]:
    """All warnings of a trial or idle window, voiding ones first; those of the runner with other codes kept.

    `figures`: where they are there already.
    """
    found = [*conduct_warnings(record, plan), *phone_warnings(record), *machine_warnings(record)]
    if not record.spec.idle:
        figures = figures or figures_of(record, plan)
        metrics = figures.metrics
        found += instrument_warnings(record, metrics)
        found += sample_warnings(record, figures)
        found += result_warnings(metrics)
        found += signatures(record, plan)
    kept = [warning for warning in record.warnings if warning.code not in OWN_CODES]
    return tuple(sorted([*found, *kept], key=lambda warning: warning.severity is not Severity.VOID))


def is_valid(warnings: tuple[TrialWarning, ...]) -> bool:
    """Whether none of them voids the trial."""
    return all(warning.severity is not Severity.VOID for warning in warnings)
