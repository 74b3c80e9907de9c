"""Cells of CSV files: text that a spreadsheet does not take for a formula (CWE-1236), and numbers."""

from __future__ import annotations

import re

_STARTS_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def text_cell(text: str) -> str:
    """Return the text, with an apostrophe before it where it begins like a formula. A number stays a number."""
    return f"'{text}" if text.startswith(_STARTS_FORMULA) and not _NUMBER.fullmatch(text) else text


def float_text(value: float) -> str:
    """Return a number to a millionth of its unit, without trailing zeros. No clock resolves further digits."""
    return f"{value:.6f}".rstrip("0").rstrip(".")
