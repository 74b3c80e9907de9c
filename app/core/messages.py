"""Messages: sentences as values. `app.i18n` makes text from them, in the language of a reader."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Argument = str | int | float | tuple[str, ...] | dict[str, int]
"""An argument that can be stored as JSON: a name, a number, names to list, or counts by name."""

NOTHING = "-"
"""Shown for a value that does not exist; never a 0."""


@dataclass(frozen=True, slots=True)
class Message:
    """A sentence or a phrase: the key of its text in the catalogue, and the values of the text's placeholders.

    The placeholder states the format, as in `{n}`, `{late_ms:.1f}` or `{count:arrival}` (`app.i18n.text`).
    """

    key: str
    args: Mapping[str, object] = field(default_factory=dict)


def count(number: int, noun: str) -> Message:
    """Return a count with its noun, by the catalogue's `count.NOUN` and `count.NOUNs`."""
    return Message(f"count.{noun}" if number == 1 else f"count.{noun}s", {"n": number})


def interval(low: float | None, high: float | None) -> Text:
    """Return both ends in brackets; "-" for an interval that does not exist."""
    return NOTHING if low is None or high is None else Message("interval", {"low": low, "high": high})


Text = str | Message
"""A message, or a name or figure that is the same in every language."""


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
