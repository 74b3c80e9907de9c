"""A run from elsewhere takes as much memory as its rows, however much else comes with it."""

from __future__ import annotations

import tracemalloc
import zipfile
from pathlib import Path

import pytest

from app.core.errors import StoreError
from app.lab.report.exchange.importer import import_run
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


def test_what_desktops_add_is_passed_over_and_nothing_else(tmp_path: Path) -> None:
    given = store_run(
        RunMaker(a_plan(client_counts=(1,), blocks=1, notifications=3)).run(), tmp_path / "there"
    )
    names = sorted(path.name for path in given.iterdir())
    packed = tmp_path / "again.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for path in given.iterdir():
            archive.write(path, f"{given.name}/{path.name}")
        for name in (
            ".DS_Store",
            f"{given.name}/Thumbs.db",
            f"{given.name}/desktop.ini",
            f"{given.name}/.DS_Store",
        ):
            archive.writestr(name, b"x")
        archive.writestr("__MACOSX/", b"")
        archive.writestr(f"__MACOSX/{given.name}/._run.sqlite", b"x")

    taken, _ = import_run(packed, tmp_path / "here")
    assert sorted(path.name for path in taken.iterdir()) == names

    (given / ".DS_Store").write_bytes(b"x")
    import_run(given, tmp_path / "from a folder")
    (given / ".env").write_bytes(b"x")
    with pytest.raises(StoreError, match=r"\.env"):
        import_run(given, tmp_path / "refused")
