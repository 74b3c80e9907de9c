"""A name that a stranger typed, made fit to be shown beside others."""

from __future__ import annotations

import unicodedata

NAME_CHARS_MAX = 40

MARKS_MAX = 2
"""Accents upon one letter; some languages need two, and more only climb over the lines above."""

_JOINERS = frozenset("\u200c\u200d")
"""Invisible and needed: Persian words and most emoji of people are written with them."""

_BLANKS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols by their class, but nothing is to be seen of them."""


def clean_name(text: str) -> str:
    """The name in one line without what is invisible or turns the direction of writing; empty when nothing is left.

    Control characters and all of Unicode's format characters go, among them the overrides and isolates with which
    a name could turn its neighbours around (UAX #9, section 2); at most 40 characters stay.
    """
    kept: list[str] = []
    marks = 0
    for char in unicodedata.normalize("NFC", text):
        kind = unicodedata.category(char)
        if kind.startswith("M"):
            marks += 1
            if marks <= MARKS_MAX:
                kept.append(char)
        elif char in _JOINERS:
            kept.append(char)
        elif kind in ("Zs", "Zl", "Zp") or char in "\t\n\r\v\f":
            kept.append(" ")
            marks = 0
        elif not kind.startswith("C") and char not in _BLANKS:
            # Marks are counted anew only here: those behind something invisible still climb on the letter before it.
            kept.append(char)
            marks = 0
    name = " ".join("".join(kept).split())[:NAME_CHARS_MAX].rstrip()
    return name if any(_is_visible(char) for char in name) else ""


def _is_visible(char: str) -> bool:
    return unicodedata.category(char)[0] in "LNPS"
