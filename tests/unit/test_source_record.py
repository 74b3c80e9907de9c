"""What the source's record of a trial means for whether it counts."""

from __future__ import annotations

import pytest

from app.lab.analysis.validity.trial_warnings import texts
from app.lab.run.trial_warnings import SourceRecord


def record(**members: object) -> SourceRecord:
    return SourceRecord(**{"state": "done", "published": (), "disturbances": 0, **members})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("members", "codes"),
    [
        ({}, []),
        ({"state": "voided"}, ["operator_published"]),
        ({"state": "failed"}, ["source_failed"]),
        ({"paths": ("direct",)}, []),
        ({"paths": ("direct", "stock")}, ["mixed_paths"]),
        ({"paths": ("direct",), "asked_path": "stock"}, ["mixed_paths"]),
        ({"paths": ("stock",), "asked_path": "stock"}, []),
        ({"codings": ("plain",)}, []),
        ({"codings": ("deflated", "plain")}, []),
        ({"codings": ("deflated",), "asked_compression": True}, []),
        ({"codings": ("plain",), "asked_compression": False}, []),
        ({"codings": ("plain",), "asked_compression": True}, ["other_coding"]),
        ({"codings": ("deflated",), "asked_compression": False}, ["other_coding"]),
        ({"codings": ("deflated", "plain"), "asked_compression": True}, ["other_coding"]),
        ({"codings": (), "asked_compression": True}, ["other_coding"]),
    ],
)
def test_what_was_not_as_the_arm_asks_voids_the_trial(members: dict[str, object], codes: list[str]) -> None:
    assert [each.code for each in record(**members).warnings] == codes


def test_a_coding_that_was_not_asked_for_is_named() -> None:
    (warning,) = record(codings=("deflated", "plain"), asked_compression=True).warnings

    assert (
        texts(warning)["text"] == "The phones received deflated and plain, where the plan asks for deflated."
    )
