"""Constructors for the two severities of warnings."""

from __future__ import annotations

from app.core.trial import Severity, TrialWarning


def void(code: str, text: str, advice: str) -> TrialWarning:
    """Return a warning that makes the trial invalid, so that its block is repeated."""
    return TrialWarning(code, Severity.VOID, text, advice)


def note(code: str, text: str, advice: str) -> TrialWarning:
    """Return a warning that leaves the trial valid."""
    return TrialWarning(code, Severity.NOTE, text, advice)
