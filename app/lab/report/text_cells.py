"""Text in a table that a spreadsheet opens: what it would take for a formula stays text (CWE-1236)."""

from __future__ import annotations

import re

_STARTS_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def text_cell(text: str) -> str:
    """The text, behind an apostrophe where it begins as a formula does; a number, negative or not, stays one."""
    return f"'{text}" if text.startswith(_STARTS_FORMULA) and not _NUMBER.fullmatch(text) else text
