"""Validity of a trial: typed warnings from stored data alone.

The runner calls the checks after each trial, and repeats the block after a VOID. The analysis calls them again for each
report and gets the same warnings. They judge the instrument and never the result: it must remain possible to find that a
transport loses notifications, or is slow or expensive. Hence two severities:

    void   the trial is invalid: source or clock out of bounds, clients gone, trial cut short, or other programs that
           took half of the machine
    note   the figures are valid, with something to know: lost and late deliveries, a slow client loop, other load

Limits are those of `measurement.md` (section 2, void rules), with three exceptions:

    slow client loop       a note, since it is a condition that all arms share when server and clients run short trials
                           on one machine
    other load             a note from a quarter of the machine on, and void from half of it on: with less, no figure
                           was found to move (`machine.py`)
    missing kernel stamps  a note, since no verdict depends on them
"""

from __future__ import annotations

from app.core.plan.scenario import Plan
from app.core.trial import Severity, TrialRecord, TrialWarning
from app.lab.analysis.metrics.trial_figures import TrialFigures, figures_of
from app.lab.analysis.validity.lifecycle import completion_warnings, phone_warnings
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
"""Codes of the checks in this package; a newly computed warning replaces a stored one with such a code."""


def check_trial(
    record: TrialRecord, plan: Plan, figures: TrialFigures | None = None
) -> tuple[TrialWarning, ...]:
    """Return all warnings of a trial or idle window, those that void it first.

    The runner's stored warnings with other codes are included. `figures`: those of the trial, if already computed.
    """
    found = [*completion_warnings(record, plan), *phone_warnings(record), *machine_warnings(record)]
    if not record.spec.idle:
        figures = figures or figures_of(record, plan)
        metrics = figures.metrics
        found += instrument_warnings(record, metrics)
        found += sample_warnings(record, figures)
        found += result_warnings(metrics)
        found += signatures(record, plan)
    stored = [warning for warning in record.warnings if warning.code not in OWN_CODES]
    return tuple(sorted([*found, *stored], key=lambda warning: warning.severity is not Severity.VOID))


def is_valid(warnings: tuple[TrialWarning, ...]) -> bool:
    """Return True if none of the warnings voids the trial."""
    return all(warning.severity is not Severity.VOID for warning in warnings)
