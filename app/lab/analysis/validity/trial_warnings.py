"""The two kinds of warning, as the checks of a trial write them."""

from __future__ import annotations

from app.core.trial import Severity, TrialWarning


def void(code: str, text: str, advice: str) -> TrialWarning:
    """The figures do not mean what they say: the trial does not count, and its block is repeated."""
    return TrialWarning(code, Severity.VOID, text, advice)


def note(code: str, text: str, advice: str) -> TrialWarning:
    """Something to know beside the figures, which stand."""
    return TrialWarning(code, Severity.NOTE, text, advice)
