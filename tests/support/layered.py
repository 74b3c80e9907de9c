"""Where the boxes of a layered drawing stand, so that its lines cross little (Sugiyama, Tagawa and Toda, 1981).

    rows of names, edges downwards -> a bend for each row that an edge passes -> order by the middle of the neighbours
                                   -> places from left to right, as near to that middle as the row allows

Everything is deterministic: the same graph gives the same drawing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

Edge = tuple[str, str]
"""From above to below."""

Bend = tuple[str, str, int]
"""A place where an edge passes a row."""

Place = str | Bend

SWEEPS = 24
"""Downwards and upwards in turns; the drawing no longer changes to the eye after a dozen."""

CHAR_PX = 7.6
BOX_MARGIN_PX = 20.0
GAP_PX = 14.0
BEND_PX = 8.0


@dataclass(slots=True)
class Layered:
    """Middles of all boxes and bends, left to right."""

    rows: Sequence[Sequence[str]]
    edges: Sequence[Edge]
    places: list[list[Place]] = field(init=False)
    x_px: dict[Place, float] = field(init=False)
    width_px: float = field(init=False)

    def __post_init__(self) -> None:
        row_of = {name: number for number, row in enumerate(self.rows) for name in row}
        self.places = [list(row) for row in self.rows]
        self.x_px = {}
        for upper, lower in self.edges:
            for number in range(row_of[upper] + 1, row_of[lower]):
                self.places[number].append((upper, lower, number))
        neighbours: dict[Place, list[Place]] = {}
        for edge in self.edges:
            way = self.way(edge, row_of)
            for here, there in pairwise(way):
                neighbours.setdefault(here, []).append(there)
                neighbours.setdefault(there, []).append(here)
        for row in self.places:
            self._set(row, {})
        for sweep in range(SWEEPS):
            for row in self.places if sweep % 2 else reversed(self.places):
                self._set(row, neighbours)
        left = min(self.x_px[place] - width(place) / 2 for row in self.places for place in row)
        for place in self.x_px:
            self.x_px[place] -= left
        self.width_px = max(self.x_px[place] + width(place) / 2 for row in self.places for place in row)

    def way(self, edge: Edge, row_of: dict[str, int]) -> list[Place]:
        """An edge's ends with its bends between them."""
        upper, lower = edge
        bends: list[Place] = [(upper, lower, number) for number in range(row_of[upper] + 1, row_of[lower])]
        return [upper, *bends, lower]

    def _set(self, row: list[Place], neighbours: dict[Place, list[Place]]) -> None:
        """Each place at the middle of its neighbours, or where it is; then pushed apart, about their common middle."""
        wish = {}
        for place in row:
            beside = [self.x_px[other] for other in neighbours.get(place, ())]
            wish[place] = sum(beside) / len(beside) if beside else self.x_px.get(place, 0.0)
        row.sort(key=lambda place: (wish[place], str(place)))
        right = float("-inf")
        for place in row:
            self.x_px[place] = max(wish[place], right + width(place) / 2)
            right = self.x_px[place] + width(place) / 2 + (GAP_PX if isinstance(place, str) else BEND_PX)
        if row:
            shift = sum(wish[place] - self.x_px[place] for place in row) / len(row)
            for place in row:
                self.x_px[place] += shift


def width(place: Place) -> float:
    """How much room a box takes; a bend takes none of its own."""
    return len(place) * CHAR_PX + BOX_MARGIN_PX if isinstance(place, str) else 0.0
