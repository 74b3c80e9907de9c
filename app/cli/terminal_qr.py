"""A QR code in a terminal, dark on light whatever the terminal's colours are, so that every phone reads it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from typing import TextIO

import segno

QUIET_MODULES = 2
"""Light around the code. The standard asks for four; phones read it with two, and a terminal is small."""

DARK_ON_LIGHT, AS_BEFORE = "\x1b[30;107m", "\x1b[0m"

HALVES = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}
"""Two modules to a character, one above the other: characters are about twice as high as they are wide."""


def qr_lines(text: str) -> list[str]:
    """The code, line by line, without colours."""
    code = segno.make(text, error="m", micro=False)
    rows = [[bool(module) for module in row] for row in code.matrix_iter(border=QUIET_MODULES)]
    rows += [[False] * len(rows[0])] * (len(rows) % 2)
    return [
        "".join(HALVES[pair] for pair in zip(upper, lower, strict=True))
        for upper, lower in zip(rows[::2], rows[1::2], strict=True)
    ]


def can_show(stream: TextIO, lines: Sequence[str], environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the code would come out: on a terminal with colours, wide enough, that has the characters."""
    if not stream.isatty() or environment.get("TERM", "dumb") == "dumb":
        return False
    try:
        "".join(HALVES.values()).encode(stream.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return shutil.get_terminal_size().columns >= len(lines[0])


def coloured(lines: Sequence[str]) -> list[str]:
    """The same for a terminal."""
    return [f"{DARK_ON_LIGHT}{line}{AS_BEFORE}" for line in lines]
