"""The instrument against known answers, with a real server, real clients and a real proxy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.cli import main as cli
from app.lab.run.simulated_clock import SimulatedClock
from app.tools.calibrate import checks
from app.tools.calibrate.case import WARMUP, Case, Part
from app.tools.calibrate.proxy import Impairment
from app.tools.calibrate.result import CheckResult
from app.tools.calibrate.rig import set_up
from tests.support.server import ROOT

NOTIFICATIONS = 20

LOST_DOUBLED_SWAPPED = Impairment(
    dropped=frozenset({WARMUP, WARMUP + 8}),
    repeated=frozenset({WARMUP + 4}),
    swapped=frozenset({WARMUP + 12}),
)


def test_what_was_taken_out_doubled_or_swapped_is_counted_and_wrong_clocks_keep_their_bound(
    tmp_path: Path,
) -> None:
    wrong_clock = SimulatedClock(offset_us=3_600_000_000.0, skew_ppm=120.0)
    case = Case(Part.COUNT, "counts", "sse", LOST_DOUBLED_SWAPPED, wrong_clock)

    with set_up(tmp_path, notifications=NOTIFICATIONS) as rig:
        finished = rig.run(case)

    counted = {row.code: (row.true, row.measured) for row in checks.rows([finished])}
    assert set(counted) == {"lost", "repeated", "out_of_order"}
    assert [row for row in counted.values() if row[0] != row[1]] == []
    # A machine that stalls reads two at once, which the proxy lets pass as they are: then fewer are injected.
    assert sum(true for true, _ in counted.values()) > 0
    # The bound is hard and no matter of speed.
    (stamps,) = checks.rows(
        [replace(finished, case=Case(Part.CLOCK, "skewed", "sse", client_clock=wrong_clock))]
    )
    assert stamps.inside is not None
    assert stamps.inside[0] == stamps.inside[1] > NOTIFICATIONS
    assert stamps.true == pytest.approx(3_600_000.0, abs=10.0)


@pytest.mark.nightly
@pytest.mark.parametrize("transport", ["sse", "socketio"])
def test_a_cut_costs_nothing_and_a_clock_that_jumps_leaves_no_wrong_delay(
    tmp_path: Path, transport: str
) -> None:
    cut = Case(Part.RECOVERY, "cut", transport, Impairment(cut_at=WARMUP + 10, outage_us=300_000))
    step = Case(
        Part.CLOCK, "step", transport, client_clock=SimulatedClock(step_us=30_000.0), step_in_trial=True
    )

    with set_up(tmp_path, notifications=NOTIFICATIONS) as rig:
        rows = checks.rows([rig.run(cut), rig.run(step)])

    assert {row.code: row.measured for row in rows} == {
        "cut_lost": 0, "cut_twice": 0, "cut_connections": 2, "step": 0,
    }  # fmt: skip


@pytest.mark.nightly
@pytest.mark.alone
def test_the_command_shows_every_row_and_its_exit_code_is_the_verdict(tmp_path: Path) -> None:
    done = calibrate(tmp_path, "--quick", "--json", str(tmp_path / "found.json"))

    found: dict[str, Any] = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert done.returncode == {"right": 0, "wrong": 1, "wide": 3}[found["verdict"]], done.stdout + done.stderr
    assert {row["part"] for row in found["rows"]} == {part.value for part in Part}
    exact = [row for row in found["rows"] if row["unit"] == "notifications"]
    assert {row["state"] for row in exact} == {CheckResult.RIGHT.value}
    stamps = [row for row in found["rows"] if row["inside"]]
    assert all(row["inside"]["count"] == row["inside"]["of"] > 0 for row in stamps)
    assert found["sentences"][-1] in done.stdout
    assert "trials with known answers" in done.stderr


def test_a_folder_is_no_file_for_the_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["calibrate", "--json", str(tmp_path)]) == 2
    assert "this is a folder" in capsys.readouterr().err


def calibrate(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SIAR_", "LC_"))}
    return subprocess.run(
        [sys.executable, "-P", "-m", "app", "calibrate", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=folder,
        env={**environment, "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT)},
    )
