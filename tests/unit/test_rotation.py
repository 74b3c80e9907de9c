"""Who takes part where fewer phones are wanted than are there."""

from collections import Counter
from itertools import pairwise

import pytest

from app.core.plan.rotation import Rotation, balanced_square


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 7, 12])
def test_every_row_and_every_column_holds_each_phone_equally_often(size: int) -> None:
    rows = balanced_square(size)

    assert len(rows) == (size if size % 2 == 0 else 2 * size)
    assert all(sorted(row) == list(range(size)) for row in rows)
    for column in zip(*rows, strict=True):
        assert set(Counter(column).values()) == {len(rows) // size}


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6, 7])
def test_each_phone_follows_each_other_equally_often(size: int) -> None:
    pairs = Counter(pair for row in balanced_square(size) for pair in pairwise(row))

    assert len(pairs) == size * (size - 1)
    assert len(set(pairs.values())) == 1


@pytest.mark.parametrize("count", [1, 3, 6])
def test_over_six_blocks_each_of_six_phones_takes_part_equally_often(count: int) -> None:
    rotation = Rotation(range(6), seed=3)

    taken = Counter(client for block in range(6) for client in rotation.chosen(block, count, range(6)))

    assert taken == dict.fromkeys(range(6), count)


def test_the_next_in_the_row_stands_in_for_who_is_not_there() -> None:
    rotation = Rotation([0, 2, 4, 7], seed=1)
    planned = rotation.chosen(5, 2, [0, 2, 4, 7])

    found = rotation.chosen(5, 2, {0, 2, 4, 7} - {planned[0]})

    assert len(found) == 2
    assert planned[1] in found
    assert planned[0] not in found


def test_the_draw_follows_the_seed() -> None:
    draws = {
        tuple(Rotation(range(6), seed=seed).chosen(block, 3, range(6)) for block in range(8))
        for seed in (1, 1, 2)
    }

    assert len(draws) == 2
