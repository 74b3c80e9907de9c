"""What Locust by itself calls a gap and a duplicate: by position, within an epoch."""

from __future__ import annotations

import pytest

from app.core.errors import MalformedPosition
from app.core.wire import OFFSET_MAX
from loadtests.gaps import GapDetector


def missing(*positions: str) -> list[int | None]:
    """What is said of each, one after the other."""
    order = GapDetector()
    return [order.missing(each) for each in positions]


@pytest.mark.parametrize(
    ("positions", "said"),
    [
        (["a.7"], [0]),
        (["a.7", "a.8", "a.9"], [0, 0, 0]),
        (["a.7", "a.9"], [0, 1]),
        (["a.7", "a.12", "a.13"], [0, 4, 0]),
        (["a.7", "a.7"], [0, None]),
        (["a.7", "a.8", "a.7", "a.9"], [0, 0, None, 0]),
        (["a.7", "b.1", "b.2"], [0, 0, 0]),
        (["a.7", "b.3", "b.3", "b.5"], [0, 0, None, 1]),
    ],
)
def test_offsets_are_compared_within_an_epoch(positions: list[str], said: list[int | None]) -> None:
    assert missing(*positions) == said


@pytest.mark.parametrize("text", ["None", f"a.{OFFSET_MAX + 1}", f"a.{10 * OFFSET_MAX}"])
def test_what_is_no_position_is_refused_and_changes_nothing(text: str) -> None:
    order = GapDetector()
    order.missing("a.7")

    with pytest.raises(MalformedPosition):
        order.missing(text)

    assert order.missing("a.8") == 0
