"""The drawing of the architecture shows the code as it is."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests import architecture
from tests.support.layered import Layered


@pytest.mark.slow
def test_drawing_and_table_are_those_of_the_imports_of_today() -> None:
    stale = [
        path.name for path, text in architecture.wanted().items() if path.read_text(encoding="utf-8") != text
    ]

    assert stale == [], (
        "an import between parts is new or gone: run `python -m tests.architecture` and commit"
    )


@pytest.mark.slow
def test_every_part_is_drawn_and_every_line_goes_down() -> None:
    graph = architecture.imports()
    rows = architecture.rows(graph)
    level = {part: number for number, row in enumerate(rows) for part in row}

    assert set(level) == set(graph)
    assert all(level[upper] < level[lower] for upper, lower in architecture.reduced(graph))


@pytest.mark.parametrize(
    ("graph", "kept"),
    [
        ({"a": {"b", "c"}, "b": {"c"}, "c": set()}, [("a", "b"), ("b", "c")]),
        ({"a": {"b", "c"}, "b": set(), "c": set()}, [("a", "b"), ("a", "c")]),
        ({"a": {"b", "d"}, "b": {"c"}, "c": {"d"}, "d": set()}, [("a", "b"), ("b", "c"), ("c", "d")]),
    ],
)
def test_a_line_that_follows_from_others_is_left_out(
    graph: dict[str, set[str]], kept: list[tuple[str, str]]
) -> None:
    assert architecture.reduced(graph) == kept


def test_boxes_of_a_row_do_not_touch() -> None:
    layered = Layered([["top"], ["one", "two", "three"]], [("top", "one"), ("top", "two"), ("top", "three")])

    names = sorted(layered.rows[1], key=lambda name: layered.x_px[name])
    ends = [(layered.x_px[name] - len(name) * 4, layered.x_px[name] + len(name) * 4) for name in names]
    assert all(left[1] < right[0] for left, right in pairwise(ends))
