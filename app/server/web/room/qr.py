"""A QR code as one SVG path, which the page draws in any size and colour without loading an image."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import segno

QUIET_ZONE = 4
"""Width of the margin in modules, without which readers miss the code (ISO/IEC 18004, section 5.3.8)."""

CODES_KEPT_MAX = 16


@dataclass(frozen=True, slots=True)
class QrPath:
    """A QR code to draw in a square `viewBox="0 0 size size"`."""

    size: int
    """Width in modules, including the quiet zone."""
    path: str
    """The `d` of one filled path: a rectangle for each run of dark modules in a row."""


@functools.lru_cache(CODES_KEPT_MAX)
def qr_path(text: str) -> QrPath:
    """Return the code of `text` with error correction M, which the library raises if the code does not grow by it."""
    matrix = segno.make(text, error="m", micro=False).matrix
    pieces: list[str] = []
    for y, row in enumerate(matrix, start=QUIET_ZONE):
        x = 0
        while x < len(row):
            if not row[x]:
                x += 1
                continue
            begin = x
            while x < len(row) and row[x]:
                x += 1
            pieces.append(f"M{begin + QUIET_ZONE} {y}h{x - begin}v1H{begin + QUIET_ZONE}z")
    return QrPath(len(matrix) + 2 * QUIET_ZONE, "".join(pieces))
