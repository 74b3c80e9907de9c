"""Cursors stored per run of equal ones are always those that each connection would have stored itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from app.server.fanout.cursor_runs import CursorRuns

MEMBERS = 12


@dataclass
class Reader:
    fd: int
    stored_cursor: int


MOVES = st.lists(st.tuples(st.integers(0, MEMBERS - 1), st.integers(1, MEMBERS), st.integers(0, 3)))


@given(st.lists(st.integers(0, 3), min_size=MEMBERS, max_size=MEMBERS), MOVES, st.sets(st.integers(0, 20)))
def test_runs_have_the_cursors_that_their_members_would_have(
    begins: list[int], moves: list[tuple[int, int, int]], caught_up: set[int]
) -> None:
    readers = [Reader(number, begin) for number, begin in enumerate(begins)]
    row = CursorRuns(cast(Any, readers))
    expected = list(begins)

    for number, (begin, count, cursor) in enumerate(moves):
        end = min(begin + count, MEMBERS)
        row.move(begin, end, cursor)
        expected[begin:end] = [cursor] * (end - begin)
        if number in caught_up:
            row.catch_up()
            assert [each.stored_cursor for each in readers] == expected
            readers[begin].stored_cursor = expected[begin] = 4  # By itself, as one whose buffer was full.
        assert _told(row) == expected

    row.catch_up()
    assert [each.stored_cursor for each in readers] == expected


def _told(row: CursorRuns) -> list[int]:
    places: list[int] = []
    while len(places) < MEMBERS:
        cursor, end = row.run_at(len(places))
        assert end > len(places)
        assert row.run_at(end - 1) == (cursor, end)
        assert end == MEMBERS or row.run_at(end)[0] != cursor, "a run is as long as it can be"
        places += [cursor] * (end - len(places))
    return places
