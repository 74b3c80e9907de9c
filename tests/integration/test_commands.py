"""The commands as a user types them."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import siar
from tests.support.server import ROOT


@pytest.fixture(scope="module")
def demo(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, subprocess.CompletedProcess[str], dict[str, Any]]:
    """One real `demo --quick`: its folder, what it said, and its result."""
    folder = tmp_path_factory.mktemp("demo")
    done = siar(folder, "demo", "--quick", "--verbose", "--seed", "11", "--json", "result.json")
    assert done.returncode == 0, done.stderr
    return folder, done, json.loads((folder / "result.json").read_text())


def test_the_demo_delivers_everything_once_and_in_order(demo: tuple[Path, Any, dict[str, Any]]) -> None:
    _folder, _done, result = demo

    assert {trial["clients"] for trial in result["trials"]} == {1, 3, 6}
    for trial in result["trials"]:
        assert trial["expected"] == trial["delivered"] == trial["notifications"] * trial["clients"]
        assert (trial["lost"], trial["late"], trial["duplicates"], trial["out_of_order"]) == (0, 0, 0, 0)


def test_the_result_has_the_documented_schema(demo: tuple[Path, Any, dict[str, Any]]) -> None:
    _folder, _done, result = demo
    documented = (ROOT / "docs/formats.md").read_text().split("### result.json")[1].split("\n### ")[0]
    trial_row, comparison_row = (
        next(line for line in documented.splitlines() if line.startswith(f"| `{key}[]`"))
        for key in ("trials", "comparison")
    )

    assert result["schema"] == 1
    top = {key for key in result if f"`{key}" not in documented}
    assert not top, "keys that docs/formats.md does not name"
    for name in re.findall(r"`(\w+)`", trial_row.split("`delay_ms`")[0].split("|")[2]):
        assert name in result["trials"][0]
    assert {"mean", "p50", "p95", "p99", "max"} == result["trials"][0]["delay_ms"].keys()
    assert {"user_s", "system_s", "total_s", "core_percent", "per_delivery_us", "delta_points"} <= result[
        "trials"
    ][0]["cpu"].keys()
    for name in re.findall(r"`(\w+)`", comparison_row.split("|")[2].split(";")[0]):
        assert name in result["comparison"][0]


def test_a_quick_demo_never_names_a_winner(demo: tuple[Path, Any, dict[str, Any]]) -> None:
    _folder, _done, result = demo

    assert {each["verdict"] for each in result["comparison"]} <= {"undecided", "invalid"}


def test_the_printed_numbers_are_those_of_the_result(demo: tuple[Path, Any, dict[str, Any]]) -> None:
    _folder, done, result = demo
    rows = re.findall(
        r"^(SSE|Socket\.IO) +(\d) +(\d+) +(\S+) +(\S+) +(\S+) +(\S+) +(\d+) +(\d+) +(\S+) +(\S+)",
        done.stdout,
        re.MULTILINE,
    )

    assert len(rows) == 6
    for title, clients, samples, p50, _p95, _p99, jitter, lost, duplicates, cpu_us, points in rows:
        arm = {"SSE": "sse", "Socket.IO": "socketio"}[title]
        row = next(
            each for each in result["summary"] if (each["arm"], each["clients"]) == (arm, int(clients))
        )
        assert int(samples) == row["samples"]
        assert (int(lost), int(duplicates)) == (row["lost"], row["duplicates"])
        for printed, name in (
            (p50, "delay_ms_p50"),
            (jitter, "jitter_ms"),
            (cpu_us, "cpu_per_delivery_us"),
            (points, "delta_points"),
        ):
            if printed != "-":
                assert float(printed) == pytest.approx(row[name], rel=1e-3, abs=6e-4), name
    for comparison in result["comparison"]:
        if comparison["family"] == "confirmatory":
            assert comparison["text"] in " ".join(done.stdout.split())


def test_the_run_can_be_listed_drawn_again_and_verified(demo: tuple[Path, Any, dict[str, Any]]) -> None:
    folder, done, result = demo
    run = result["run"]["id"]

    assert run in siar(folder, "runs").stdout
    again = siar(folder, "report", run)
    assert again.returncode == 0
    assert again.stdout.strip() in done.stdout
    opened = siar(folder, "open", "--print")
    assert opened.stdout.strip() == str((folder / "runs" / run / "report.html").resolve())
    assert json.loads(siar(folder, "report", run, "--format", "json").stdout) == result
    assert siar(folder, "report", f"runs/{run}", "--format", "html", "--output", "again.html").returncode == 0
    assert (folder / "again.html").read_text() == (folder / "runs" / run / "report.html").read_text()
    assert siar(folder, "verify", run).returncode == 0


def test_a_demo_without_a_terminal_has_no_control_characters(demo: tuple[Path, Any, dict[str, Any]]) -> None:
    _folder, done, _result = demo

    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", done.stdout + done.stderr)
    assert re.search(r"^ 90 %  \d+ of \d+  \d+ s left  (SSE|Socket\.IO) median", done.stderr, re.MULTILINE)


def test_verify_finds_a_figure_that_was_changed(
    demo: tuple[Path, Any, dict[str, Any]], tmp_path: Path
) -> None:
    folder, _done, result = demo
    original = folder / "runs" / result["run"]["id"]
    for name in ("run.sqlite", "result.json"):
        (tmp_path / name).write_bytes((original / name).read_bytes())
    result["trials"][0]["delay_ms"]["p50"] += 1
    (tmp_path / "result.json").write_text(json.dumps(result))

    verified = siar(tmp_path, "verify", str(tmp_path))

    assert verified.returncode == 1
    assert "trials[0].delay_ms.p50" in verified.stdout


def test_the_report_asks_no_other_host_for_anything(demo: tuple[Path, Any, dict[str, Any]]) -> None:
    folder, _done, result = demo
    html = (folder / "runs" / result["run"]["id"] / "report.html").read_text()

    assert len(html) < 1_000_000
    assert not re.search(r"""(src|href)=["'](?!#|data:)""", html)
    assert "@import" not in html
    assert "url(http" not in html
