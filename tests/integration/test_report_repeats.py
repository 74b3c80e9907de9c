"""A report is a function of its run: another process, hash seed, time zone and locale give the same bytes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.records import recorded
from tests.support.server import ROOT
from tests.unit.support_run import RunMaker, a_plan, store_run

SURROUNDINGS = (
    {"PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C"},
    {"PYTHONHASHSEED": "2", "TZ": "Asia/Jakarta", "LC_ALL": "C.UTF-8"},
)

FORMS = "html,md,csv,json"


def drawn(run: Path, target: Path, language: str, surroundings: dict[str, str]) -> dict[str, bytes]:
    """Every file of a report by its name, and what a terminal shows."""
    command = [sys.executable, "-m", "app", "report", str(run), "--language", language]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **surroundings}
    for arguments in (["--format", FORMS, "--output", str(target)], ["--output", str(target / "text")]):
        subprocess.run([*command, *arguments], env=environment, check=True, capture_output=True)
    return {path.name: path.read_bytes() for path in sorted(target.iterdir())}


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "id"])
def test_the_same_run_gives_the_same_bytes_in_every_surrounding(tmp_path: Path, language: str) -> None:
    plan = a_plan(client_counts=(1, 3), notifications=6)
    run = store_run(RunMaker(plan, alter=recorded).run(), tmp_path / "runs")

    one, other = (
        drawn(run, tmp_path / str(number), language, surroundings)
        for number, surroundings in enumerate(SURROUNDINGS)
    )

    assert len(one) >= 6, "text, page, Markdown, JSON, and the two tables"
    assert one.keys() == other.keys()
    assert [name for name in one if one[name] != other[name]] == []
    assert all(one.values())
