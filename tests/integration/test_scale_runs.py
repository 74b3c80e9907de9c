"""The command that shows how a folder with a day of experiments behaves: small here, and the same way as large."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools import suite

pytestmark = pytest.mark.nightly


def test_a_folder_of_drawn_runs_is_listed_pruned_reported_and_compared(tmp_path: Path) -> None:
    found = tmp_path / "scale.json"

    done = subprocess.run(
        [
            *(sys.executable, "-m", "tests.tools.scale_runs", "--runs", "4", "--rows", "24000", "--one"),
            *("--folder", str(tmp_path / "runs"), "--json", str(found)),
        ],
        env=suite.environment(),
        capture_output=True,
        text=True,
        cwd=suite.ROOT,
    )

    # 99: a limit was missed, which are for a machine that does nothing else.
    assert done.returncode in (0, 99), done.stdout + done.stderr
    figures = json.loads(found.read_text())
    assert (figures["runs"], figures["rows"]) == (4, 24_000)
    assert len(figures["lines"]) == 9
    assert len(list((tmp_path / "runs").glob("20260101-*/result.json"))) == 4
