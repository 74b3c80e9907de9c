"""A run from elsewhere takes as much memory as its rows, however much else comes with it."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

from app.report.unpack import import_run
from tests.unit.support_run import RunMaker, a_plan, store_run

LARGE_BYTES = 64 * 1024 * 1024


def test_a_large_result_is_taken_as_it_came_and_not_held_in_memory(tmp_path: Path) -> None:
    given = store_run(
        RunMaker(a_plan(client_counts=(1,), blocks=1, notifications=3)).run(), tmp_path / "there"
    )
    with (given / "result.json").open("ab") as file:
        file.truncate(LARGE_BYTES)
    tracemalloc.start()

    try:
        taken, _ = import_run(given, tmp_path / "here")
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert (taken / "result.json").stat().st_size == LARGE_BYTES
    assert peak_bytes < LARGE_BYTES / 2
    assert sorted(path.name for path in taken.iterdir()) == sorted(path.name for path in given.iterdir())
