"""Selection of phones for blocks that need fewer than are present: one row of a balanced Latin square per block.

    4 phones    row 0: 0 1 3 2        Each row and each column contains every phone once. Hence, over as many blocks as
                row 1: 1 2 0 3        there are phones, each phone is chosen equally often for any count.
                row 2: 2 3 1 0        In Williams' order (Aust. J. Sci. Res. A 2, 1949) each phone also follows each
                row 3: 3 0 2 1        other equally often; an odd number of phones needs the mirrored rows as well.

All arms of a block use the same phones, so that a difference between arms is never one between phones.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence


class Rotation:
    """Selection of one run; reproducible for the same phones and seed."""

    def __init__(self, clients: Sequence[int], *, seed: int) -> None:
        order = list(clients)
        # Seats are numbered by time of joining, which must not decide who is measured first.
        random.Random(f"siar rotation {seed}").shuffle(order)
        self._rows = [[order[place] for place in row] for row in balanced_square(len(order))]

    def chosen(self, block: int, count: int, present: Collection[int]) -> tuple[int, ...]:
        """Return the phones of a block, ascending: the first `count` of its row that are present."""
        row = self._rows[block % len(self._rows)]
        return tuple(sorted([client for client in row if client in present][:count]))


def balanced_square(size: int) -> list[list[int]]:
    """Return the rows of a balanced Latin square of 0 to size - 1: `size` rows, or twice as many if `size` is odd."""
    # The first row is 0, 1, size - 1, 2, size - 2, ...: neighbours differ by every distance once.
    first = [0, *((step + 1) // 2 if step % 2 else size - step // 2 for step in range(1, size))]
    rows = [[(place + turn) % size for place in first] for turn in range(size)]
    return rows if size % 2 == 0 else [*rows, *([*reversed(row)] for row in rows)]
