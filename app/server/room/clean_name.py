"""Clean a name that somebody typed, so that it can be shown among others."""

from __future__ import annotations

import unicodedata

NAME_CHARS_MAX = 40

MARKS_MAX = 2
"""Combining marks per letter: some languages need two, and more of them would overlap the lines above."""

_JOINERS = frozenset("\u200c\u200d")
"""Zero-width joiners, which are invisible but required in Persian words and most emoji of people."""

_BLANKS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Characters that Unicode classifies as letters or symbols, but which show nothing."""


def clean_name(text: str) -> str:
    """Return the name in one line, without invisible and bidirectional characters; empty if nothing visible is left.

    Control characters and all of Unicode's format characters are removed, among them the overrides and isolates with
    which a name could reverse neighbouring text (UAX #9, section 2). The result has at most 40 characters.
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
            # Only a visible character resets the count: marks after an invisible one still combine with the letter before.
            kept.append(char)
            marks = 0
    name = " ".join("".join(kept).split())[:NAME_CHARS_MAX].rstrip()
    return name if any(_is_visible(char) for char in name) else ""


def _is_visible(char: str) -> bool:
    return unicodedata.category(char)[0] in "LNPS"
