"""An arm beside itself: whatever the instrument then finds, it has made itself (measurement.md, V4)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from app.experiment import processes

pytestmark = [pytest.mark.slow, pytest.mark.alone]

BLOCKS = 8
"""Fewer give no verdict."""


def plan_text(transport: str) -> str:
    return f"""
client_counts = [1, 6]
blocks = {BLOCKS}
notifications = 60
rate_hz = 50.0
arms = [
  {{ name = "once", transport = "{transport}" }},
  {{ name = "again", transport = "{transport}" }},
]
"""


@pytest.mark.parametrize("transport", ["sse", "socketio"])
def test_an_arm_is_equivalent_to_itself(transport: str, tmp_path: Path) -> None:
    """Equivalence, and not the verdict: of true differences of nothing, that finds five in a hundred by its definition."""
    (tmp_path / "plan.toml").write_text(plan_text(transport))
    done = subprocess.run(
        processes.python_module("app", "run", "plan.toml", "--json", "result.json"),
        env=processes.environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((tmp_path / "result.json").read_text())
    primary = [each for each in result["comparison"] if each["family"] == "primary"]
    assert {(each["clients"], each["blocks_valid"] >= BLOCKS) for each in primary} == {(1, True), (6, True)}
    assert [each for each in primary if not each["equivalent"]] == []
    assert result["totals"]["lost"] == 0
