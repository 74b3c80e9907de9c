"""Runs from strangers, broken at random: imported whole, or refused in a sentence with nothing left behind."""

from __future__ import annotations

import json
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.errors import SiarError
from app.lab.report.exchange.exporter import export_zip
from app.lab.report.exchange.importer import import_run
from tests.support.fuzz import effort, json_values
from tests.support.stored_run import store_run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = store_run(tmp_path_factory.mktemp("runs"), "run-1", client_counts=(1,))
    return export_zip(run, tmp_path_factory.mktemp("out") / "run.zip")


def assert_whole_or_nothing(hostile: Path, folder: Path) -> None:
    runs = folder / "runs"
    try:
        imported = [import_run(hostile, runs)[0]]
    except SiarError:  # Anything else is a bug, and ends the test.
        imported = []
    assert list(runs.iterdir()) == imported
    assert {each.name for each in folder.iterdir()} == {hostile.name, "runs"}


def broken(content: bytes, wounds: list[tuple[float, int]]) -> bytes:
    """`content` with some bytes changed, each at a share of its length."""
    changed = bytearray(content)
    for share, value in wounds:
        changed[min(int(share * len(changed)), len(changed) - 1)] = value
    return bytes(changed)


wounds = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=6)


@effort(60)
@given(wounds=wounds, end=st.floats(0.2, 1))
def test_a_zip_with_wounds_is_whole_or_nothing(
    packed: Path, wounds: list[tuple[float, int]], end: float
) -> None:
    with tempfile.TemporaryDirectory() as name:
        hostile = Path(name) / "x.zip"
        content = packed.read_bytes()
        hostile.write_bytes(broken(content, wounds)[: int(end * len(content)) if end < 0.9 else None])

        assert_whole_or_nothing(hostile, Path(name))


@effort(60)
@given(wounds=wounds, manifest=st.none() | json_values)
def test_a_database_or_manifest_with_wounds_is_whole_or_nothing(
    packed: Path, wounds: list[tuple[float, int]], manifest: object
) -> None:
    with tempfile.TemporaryDirectory() as name, zipfile.ZipFile(packed) as source:
        hostile = Path(name) / "x.zip"
        with zipfile.ZipFile(hostile, "w") as target:
            for member in source.namelist():
                content = source.read(member)
                if member.endswith("run.sqlite"):
                    content = broken(content, wounds)
                if member.endswith("manifest.json"):
                    if manifest is None:
                        continue  # Nobody vouches, so that the database itself is looked at.
                    content = json.dumps(manifest).encode()
                target.writestr(member, content)

        assert_whole_or_nothing(hostile, Path(name))
