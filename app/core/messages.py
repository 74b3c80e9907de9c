"""Messages: sentences as values. `app.i18n` makes text from them, in the language of a reader."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import floor, log10

Argument = str | int | float | tuple[str, ...] | dict[str, int]
"""An argument that can be stored as JSON: a name, a number, names to list, or counts by name."""

NOTHING = "-"
"""Shown for a value that does not exist; never a 0."""


@dataclass(frozen=True, slots=True)
class Message:
    """A sentence or a phrase: the key of its text in the catalogue, and the values of the text's placeholders.

    Arguments are of the types of `Text`, or tuples of these, or counts by name. The placeholder states the format, as in
    `{n}`, `{late_ms:.1f}` or `{count:arrival}` (`app.i18n.text`).
    """

    key: str
    args: Mapping[str, object] = field(default_factory=dict)


def count(number: int, noun: str) -> Message:
    """Return a count with its noun, by the catalogue's `count.NOUN` and `count.NOUNs`."""
    return Message(f"count.{noun}" if number == 1 else f"count.{noun}s", {"n": number})


def interval(low: float | None, high: float | None) -> Text:
    """Return both ends in brackets; `None` for an interval that does not exist."""
    return None if low is None or high is None else Message("interval", {"low": low, "high": high})


Text = str | int | float | Message | None
"""A value that a renderer makes text from, in its reader's language: a message, a name that is the same in every language, a
whole number, a figure, or `None` for what does not exist (`app.i18n.text`)."""

Say = Callable[[Text], str]
"""A function that makes text in a reader's language."""


def clauses(items: Iterable[Text]) -> Message:
    """Return the items joined by semicolons, since they may contain commas."""
    return Message("clauses", {"items": tuple(items)})


def number(value: float | None) -> str:
    """Format a figure: four significant digits, at most three decimals; "-" for one that does not exist.

    All renderers use this function, so that the same figure looks the same everywhere.
    """
    if value is None:
        return NOTHING
    size = abs(value)
    decimals = 3 if size < 10 else 2 if size < 100 else 1 if size < 1000 else 0
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text


SHORT_DIGITS = 3
"""Significant digits of a figure in a headline; intervals and margins have `ROUGH_DIGITS`."""

ROUGH_DIGITS = 2

SHORT_DECIMALS_MAX = 3


def short(value: float, digits: int = SHORT_DIGITS) -> str:
    """Format the figure `value` with `digits` significant digits, thousands as `1,065` and a minus as "\u2212".

    Digits before the decimal point are never rounded away: 1065.2 is `1,065`.
    """
    size = abs(value)
    decimals = 0 if size == 0 else digits - 1 - floor(log10(size))
    text = f"{size:,.{min(max(decimals, 0), SHORT_DECIMALS_MAX)}f}"
    return f"\u2212{text}" if value < 0 and text.strip("0.") else text
