"""QR code in a terminal, always dark on light whatever its colours are, so that every phone can read it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from typing import TextIO

import segno

QUIET_MODULES = 2
"""Light margin around the code. The standard requires four modules; phones read it with two, and a terminal is
small."""

DARK_ON_LIGHT, AS_BEFORE = "\x1b[30;107m", "\x1b[0m"

HALVES = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}
"""Two modules per character, one above the other, because characters are about twice as high as wide."""


def qr_lines(text: str) -> list[str]:
    """Return the code as lines of text without colours."""
    code = segno.make(text, error="m", micro=False)
    rows = [[bool(module) for module in row] for row in code.matrix_iter(border=QUIET_MODULES)]
    rows += [[False] * len(rows[0])] * (len(rows) % 2)
    return [
        "".join(HALVES[pair] for pair in zip(upper, lower, strict=True))
        for upper, lower in zip(rows[::2], rows[1::2], strict=True)
    ]


def can_show(stream: TextIO, lines: Sequence[str], environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether the code can be shown: a terminal with colours, wide enough, whose encoding has the characters."""
    if not stream.isatty() or environment.get("TERM", "dumb") == "dumb":
        return False
    try:
        "".join(HALVES.values()).encode(stream.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return shutil.get_terminal_size().columns >= len(lines[0])


def coloured(lines: Sequence[str]) -> list[str]:
    """Return the lines with terminal colours: dark on light."""
    return [f"{DARK_ON_LIGHT}{line}{AS_BEFORE}" for line in lines]
