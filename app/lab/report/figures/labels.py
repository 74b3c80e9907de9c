"""Where words go on a drawing, so that none runs into another or off its edge. Widths are estimates on the safe side."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

CHAR_PX = 6.8
"""How wide a letter of 12 px is, on average, in the widest of the faces that readers have."""

WIDTH_PX = 340
"""Of a drawing."""

LEFT_PX = 50

NAMES_SHARE_MAX = 0.55
"""How much of a drawing the names of its rows may take."""


def side_by_side(ticks: Sequence[tuple[float, str]], *, rows: int) -> Iterator[tuple[float, int, str]]:
    """Ticks (place, words) with the row that the words stand in.

    With one row what has no room is left out; with several, words take turns and are cut where they must be.
    """
    gap = min((after - before for (before, _), (after, _) in pairwise(ticks)), default=math.inf)
    used = rows if any(_wide_px(words) > gap for _, words in ticks) else 1
    ends = [-math.inf] * used
    for place, (x, whole) in enumerate(ticks):
        row = place % used
        words = whole if rows == 1 else _cut(whole, used * gap - CHAR_PX)
        middle, half = within(x, words), _wide_px(words) / 2
        has_room = middle - half >= ends[row]
        if has_room:
            ends[row] = middle + half + CHAR_PX / 2
        yield x, row, words if has_room else ""


def within(x: float, words: str) -> float:
    """Where the middle of words goes so that they stay on the drawing."""
    half = min(_wide_px(words) / 2, WIDTH_PX / 2)
    return min(max(x, half), WIDTH_PX - half)


def left_for(names: Iterable[str]) -> int:
    """How much room the names of rows need on the left, px."""
    longest = max(map(len, names), default=0)
    return round(min(max(LEFT_PX, longest * CHAR_PX + 12), WIDTH_PX * NAMES_SHARE_MAX))


def row_name(words: str) -> str:
    """A row's name as far as there is room for it."""
    return _cut(words, WIDTH_PX * NAMES_SHARE_MAX - 12)


def _cut(words: str, room_px: float) -> str:
    """As many letters as there is room for, and dots for the rest."""
    fits = max(int(min(room_px, WIDTH_PX) / CHAR_PX), 4)
    return words if len(words) <= fits else f"{words[: fits - 1]}…"


def _wide_px(words: str) -> float:
    return len(words) * CHAR_PX
