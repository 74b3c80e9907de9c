"""Nightly tests: each is listed with its paths, and is due when one of them changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools import nightly, suite


def test_every_file_with_nightly_tests_is_listed_and_every_path_exists() -> None:
    marked = {str(path.relative_to(suite.ROOT)) for path in suite.files_that_mark("nightly")}
    listed = nightly.triggers()

    assert marked - {"tests/unit/test_nightly.py"} == set(listed)
    assert [path for paths in listed.values() for path in paths if not (suite.ROOT / path).exists()] == []


def test_a_file_that_passed_is_due_again_when_one_of_its_paths_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text("")
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "one.py").write_text("1")
    (tmp_path / "table.toml").write_text(
        '[code]\npaths = ["code"]\nfiles = ["tests/test_a.py"]\n[long]\npaths = []\nfiles = ["b.py"]\n'
    )
    monkeypatch.setattr(nightly, "ROOT", tmp_path)
    monkeypatch.setattr(nightly, "TABLE", tmp_path / "table.toml")
    monkeypatch.setattr(nightly, "RECORD", tmp_path / "record.json")

    assert nightly.due() == ["tests/test_a.py"]
    nightly.record("tests/test_a.py", commit="c0ffee" * 6, passed_at="2026-11-25T05:00Z", duration_s=61.24)
    assert nightly.due() == []
    assert "passed 2026-11-25T05:00Z at c0ffeec0f in 61 s" in nightly.listing()
    (tmp_path / "code" / "test_b.py").write_text("another test")
    assert nightly.due() == []
    (tmp_path / "code" / "one.py").write_text("2")

    assert nightly.due() == ["tests/test_a.py"]
