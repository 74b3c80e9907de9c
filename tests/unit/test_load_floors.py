"""The floor of a level, measured in each block: its median, its range, and what is told when it moves or fails."""

from __future__ import annotations

from typing import Any

import pytest

from app.core.errors import Malformed
from app.i18n import LANGUAGES, text
from app.lab.analysis.validity.trial_warnings import seen
from app.tools.load.floors import Floors, floors_of
from app.tools.load.trial_line import FloorLine
from tests.unit.load_lines import LATE, a_floor


def floors(*medians_ms: float | None, failed: int = 0, **changes: Any) -> Floors:
    lines = [
        a_floor(delay_ms_p50=each, block=block, warnings=(LATE,) * (block < failed), **changes)
        for block, each in enumerate(medians_ms)
    ]
    (found,) = floors_of(lines).values()
    return found


def test_median_and_range_are_over_the_blocks() -> None:
    found = floors(0.3, 0.5, 0.4, None)

    assert (found.median_ms, found.range_ms) == (0.4, (0.3, 0.5))
    assert (found.troubles, found.remarks) == ((), ())


def test_one_floor_has_no_range_and_none_has_no_median() -> None:
    assert (floors(0.3).median_ms, floors(0.3).range_ms) == (0.3, None)
    assert (floors(None).median_ms, floors(None).range_ms, floors(None).has_moved) == (None, None, False)


@pytest.mark.parametrize(
    ("medians_ms", "moved"),
    [
        ((4.0, 4.4, 5.9), False),  # within half as much again
        ((4.0, 4.4, 6.1), True),
        ((0.10, 0.29), False),  # three times as much, and still next to nothing
        ((0.10, 0.31), True),
        ((6.1, 4.0), True),  # in whatever order
    ],
)
def test_a_floor_that_moved_between_blocks_is_told(medians_ms: tuple[float, ...], moved: bool) -> None:
    found = floors(*medians_ms)

    assert found.has_moved == moved
    assert len(found.remarks) == moved
    assert all(" moved between blocks" in text(each, "en") for each in found.remarks)
    assert all(" bergeser antarblok" in text(each, "id") for each in found.remarks)


@pytest.mark.parametrize(("failed", "of"), [(1, 1), (2, 3), (4, 6)])
def test_a_level_whose_floor_failed_in_most_blocks_is_not_to_be_believed(failed: int, of: int) -> None:
    found = floors(*[0.3] * of, failed=failed)

    (trouble,) = found.troubles
    assert [text(trouble, language) for language in LANGUAGES] == [
        "Against the neutral source, SSE with 10 users: "
        "The generator's own loop was late: p99 61.00 ms, limit 50.00 ms.",
        "Terhadap sumber netral, SSE dengan 10 pengguna: " + text(seen(LATE), "id"),
    ]
    assert found.remarks == ()


@pytest.mark.parametrize(("failed", "of"), [(1, 2), (1, 3), (3, 6)])
def test_a_floor_that_failed_in_some_blocks_is_told_and_voids_nothing(failed: int, of: int) -> None:
    found = floors(*[0.3] * of, failed=failed)

    assert found.troubles == ()
    (remark,) = found.remarks
    assert f"failed in {failed} of {of} blocks" in text(remark, "en")
    assert f"gagal di {failed} dari {of} blok" in text(remark, "id")


def test_transports_and_levels_are_kept_apart_with_fewer_users_first() -> None:
    lines = [a_floor(users=users, transport=name) for users in (20, 10) for name in ("socketio", "sse")]

    assert list(floors_of(lines)) == [("socketio", 10), ("sse", 10), ("socketio", 20), ("sse", 20)]


def test_a_floor_that_was_written_before_blocks_had_theirs_is_read() -> None:
    line = a_floor().to_json()
    del line["block"]

    assert FloorLine.from_json(line) == a_floor(block=None)


def test_a_floor_of_an_older_version_shows_its_sentences_as_they_are() -> None:
    line = a_floor(warnings=(LATE,)).to_json()
    del line["warnings"]

    floor = FloorLine.from_json(line)

    assert [text(seen(each), "id") for each in floor.warnings] == line["troubles"]
    assert floor.to_json()["troubles"] == line["troubles"]


@pytest.mark.parametrize(
    "warnings", [None, 5, ["late"], [{"code": "late"}], [{"code": 1, "severity": "void"}]]
)
def test_a_floor_with_other_warnings_is_refused(warnings: object) -> None:
    with pytest.raises(Malformed):
        FloorLine.from_json({**a_floor().to_json(), "warnings": warnings})
