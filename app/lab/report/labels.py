"""Placement of labels on a drawing, so that none overlaps another or leaves it. Widths of text are upper estimates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

CHAR_PX = 6.8
"""Average width of a letter of 12 px in the widest of the usual faces."""

WIDTH_PX = 340
"""Width of a drawing."""

LEFT_PX = 50
"""Space left of the plot for the y axis, unless row names need more."""

NAMES_SHARE_MAX = 0.55
"""Largest share of a drawing's width for the names of its rows."""


def side_by_side(ticks: Sequence[tuple[float, str]], *, rows: int) -> Iterator[tuple[float, int, str]]:
    """Yield ticks (x, label) as x, row and label, such that labels do not overlap.

    With one row, a label without room becomes empty. With several, labels alternate between rows and are cut if too long.
    """
    gap = min((after - before for (before, _), (after, _) in pairwise(ticks)), default=math.inf)
    used = rows if any(_wide_px(words) > gap for _, words in ticks) else 1
    ends = [-math.inf] * used
    for place, (x, whole) in enumerate(ticks):
        row = place % used
        words = whole if rows == 1 else _cut(whole, used * gap - CHAR_PX)
        middle, half = label_x(x, words), _wide_px(words) / 2
        has_room = middle - half >= ends[row]
        if has_room:
            ends[row] = middle + half + CHAR_PX / 2
        yield x, row, words if has_room else ""


def label_x(x: float, words: str) -> float:
    """Return the x of a label's middle, moved so that the label stays on the drawing."""
    half = min(_wide_px(words) / 2, WIDTH_PX / 2)
    return min(max(x, half), WIDTH_PX - half)


def left_for(names: Iterable[str]) -> int:
    """Return the space in px that row names need on the left."""
    longest = max(map(len, names), default=0)
    return round(min(max(LEFT_PX, longest * CHAR_PX + 12), WIDTH_PX * NAMES_SHARE_MAX))


def row_name(words: str) -> str:
    """Return a row's name, cut to the room for names."""
    return _cut(words, WIDTH_PX * NAMES_SHARE_MAX - 12)


def _cut(words: str, room_px: float) -> str:
    """Return as many letters as there is room for, with an ellipsis for the rest."""
    fits = max(int(min(room_px, WIDTH_PX) / CHAR_PX), 4)
    return words if len(words) <= fits else f"{words[: fits - 1]}…"


def _wide_px(words: str) -> float:
    return len(words) * CHAR_PX
