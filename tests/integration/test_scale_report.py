"""The command that shows how ingest and report grow: small here, and the same way as large."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools import suite

pytestmark = pytest.mark.nightly


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *words],
        env=suite.environment(),
        capture_output=True,
        text=True,
        cwd=suite.ROOT,
    )


def test_a_drawn_run_goes_from_the_spool_to_a_report_that_verifies(tmp_path: Path) -> None:
    found = tmp_path / "scale.json"

    done = run(
        *("tests.tools.scale_report", "--clients", "200", "--notifications", "60", "--shares", "0.5,1"),
        *("--instrument", "--folder", str(tmp_path), "--json", str(found)),
    )

    assert done.returncode == 0, done.stderr
    small, large = json.loads(found.read_text())["lines"]
    assert (small["deliveries"], large["deliveries"]) == (6_000, 12_000)
    # Figures are thinned and tables cut: a page stays one that a phone can open.
    assert large["html_kb"] < 1.1 * small["html_kb"]
    (folder,) = tmp_path.glob("*-200x60")
    page = (folder / "drawn.html").read_text()
    assert "nothing was measured" in page
    assert "Simulated" in page
    result = json.loads((folder / "result.json").read_text())
    assert [row["samples"] for row in result["summary"]] == [6_000, 6_000]
    assert {row["lost"] for row in result["summary"]} == {0}
    assert all(trial["valid"] for trial in result["trials"])
    verified = run("app", "verify", str(folder))
    assert verified.returncode == 0, verified.stdout
