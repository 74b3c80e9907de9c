"""Which phones take part where fewer are wanted than are there: a balanced Latin square, a row for each block.

    4 phones    row 0: 0 1 3 2        Each row holds every phone once, and so does each column; hence over as many
                row 1: 1 2 0 3        blocks as there are phones each one is taken equally often, whatever the count.
                row 2: 2 3 1 0        Williams' order (Aust. J. Sci. Res. A 2, 1949) also lets each phone follow each
                row 3: 3 0 2 1        other equally often; with an odd count it needs the mirrored rows as well.

All arms of a block have the same phones, so that their difference never is one between phones.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence


class Rotation:
    """The draw of one run: the same for the same phones and seed, for ever."""

    def __init__(self, clients: Sequence[int], *, seed: int) -> None:
        order = list(clients)
        # Who sits on the first seat joined first: that shall not decide who is measured first.
        random.Random(f"siar rotation {seed}").shuffle(order)
        self._rows = [[order[place] for place in row] for row in balanced_square(len(order))]

    def chosen(self, block: int, count: int, present: Collection[int]) -> tuple[int, ...]:
        """Who takes part in a block, ascending: the first `count` of its row that are present."""
        row = self._rows[block % len(self._rows)]
        return tuple(sorted([client for client in row if client in present][:count]))


def balanced_square(size: int) -> list[list[int]]:
    """Rows of 0 to size - 1: as many as `size`, or twice as many where it is odd."""
    # 0, 1, size - 1, 2, size - 2, ...: neighbours differ by every distance once.
    first = [0, *((step + 1) // 2 if step % 2 else size - step // 2 for step in range(1, size))]
    rows = [[(place + turn) % size for place in first] for turn in range(size)]
    return rows if size % 2 == 0 else [*rows, *([*reversed(row)] for row in rows)]
