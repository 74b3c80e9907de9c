"""Writes of one connection as columns: they are the pairs that they were made of."""

from __future__ import annotations

from app.core.instrument import Writes

PAIRS = ((0, 10), (1, 25), (2, 31))


def test_columns_read_as_the_pairs_that_they_were_made_of() -> None:
    writes = Writes.of(PAIRS)

    assert len(writes) == 3
    assert tuple(writes) == PAIRS
    assert (writes[1], writes[-1], writes[1:]) == ((1, 25), (2, 31), PAIRS[1:])
    assert Writes.of(writes) is writes
    assert tuple(Writes.of([])) == ()


def test_they_equal_the_same_pairs_and_nothing_else() -> None:
    writes = Writes.of(PAIRS)

    assert writes == Writes.of(PAIRS) == PAIRS
    assert writes != Writes.of(PAIRS[1:])
    assert writes != list(PAIRS)
