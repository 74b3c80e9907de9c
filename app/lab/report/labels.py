"""Placement of labels on a report's drawing, so that they do not overlap or leave it.

Text widths are upper estimates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

CHAR_PX = 6.8
"""Average width of a letter of 12 px in the widest of the usual fonts."""

EDGE_PX = 4
"""Space that a label keeps from the left and the right edge, px, since some characters (%) are wider than a digit."""

TITLE_PX = 20
"""Space for the title of the y axis, which is written upwards, px."""

WIDTH_PX = 340
"""Width of a drawing, in units of the SVG."""

LEFT_PX = 50
"""Space left of the plot for the y axis, unless names on it need more."""

NAMES_SHARE_MAX = 0.55
"""Largest share (0 to 1) of a drawing's width for the names of the categories on its y axis, called rows here."""


def side_by_side(ticks: Sequence[tuple[float, str]], *, rows: int) -> Iterator[tuple[float, int, str]]:
    """Yield (x, row, label) for the ticks (x, label) of an x axis, x in px, such that labels do not overlap.

    `rows`: how many rows of labels may be below each other. With 1, a label without room becomes empty. With more,
    labels alternate between rows and are cut if too long.
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
    """Return the x, px, of a label's middle, moved from `x` so that the label stays on the drawing."""
    half = min(_wide_px(words) / 2 + EDGE_PX, WIDTH_PX / 2)
    return min(max(x, half), WIDTH_PX - half)


def left_for(labels: Iterable[str], *, has_title: bool) -> int:
    """Return the space, px, that the labels of the y axis need on the left, and its title if it has one."""
    longest = max(map(len, labels), default=0)
    wanted_px = longest * CHAR_PX + 12 + TITLE_PX * has_title
    return round(min(max(LEFT_PX, wanted_px), WIDTH_PX * NAMES_SHARE_MAX))


def row_name(words: str) -> str:
    """Return the name of a category on the y axis, cut to the space for names."""
    return _cut(words, WIDTH_PX * NAMES_SHARE_MAX - 12)


def _cut(words: str, room_px: float) -> str:
    """Return as many letters as fit into `room_px`, at least three, with an ellipsis for the rest."""
    fits = max(int(min(room_px, WIDTH_PX) / CHAR_PX), 4)
    return words if len(words) <= fits else f"{words[: fits - 1]}…"


def _wide_px(words: str) -> float:
    return len(words) * CHAR_PX
