"""Constructors for the two severities of warnings, and the sentences of a warning."""

from __future__ import annotations

from string import Formatter

from app.core.messages import Argument, Message
from app.core.trial import Severity, TrialWarning
from app.i18n import LANGUAGES, catalogue, text

CATALOGUE = "report"


def void(code: str, *, variant: str = "", **args: Argument) -> TrialWarning:
    """Return a warning that makes the trial invalid, so that its block is repeated."""
    return TrialWarning(code, Severity.VOID, args, variant)


def note(code: str, *, variant: str = "", **args: Argument) -> TrialWarning:
    """Return a warning that leaves the trial valid."""
    return TrialWarning(code, Severity.NOTE, args, variant)


def seen(warning: TrialWarning) -> Message:
    """Return the sentence with the observed figures."""
    return _message("warning", warning)


def advice(warning: TrialWarning) -> Message:
    """Return the sentence with the next step."""
    return _message("advice", warning)


def texts(warning: TrialWarning) -> dict[str, str]:
    """Return both sentences in English, as `result.json` has them."""
    return {"text": text(seen(warning), LANGUAGES[0]), "advice": text(advice(warning), LANGUAGES[0])}


def _message(part: str, warning: TrialWarning) -> Message:
    """Return a sentence of the catalogue. A run from elsewhere may have a code or arguments that the catalogue lacks."""
    words = catalogue(LANGUAGES[0], CATALOGUE)
    name = "stored" if "text" in warning.args else warning.code
    keys = (f"{part}.{name}.{warning.variant}", f"{part}.{name}", f"{part}.unknown")
    key = next(each for each in keys if each in words)
    places = (place for _, place, _, _ in Formatter().parse(words[key]) if place)
    return Message(key, {**dict.fromkeys(places), **warning.args})
