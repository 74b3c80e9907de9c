"""The commands as a user types them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.server import ROOT

pytestmark = pytest.mark.alone


def siar(
    folder: Path, *arguments: str, timeout_s: float = 120, **settings: str
) -> subprocess.CompletedProcess[str]:
    """`./siar ...` in `folder`, without the wrapper's set-up."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SIAR_")}
    environment |= {"PYTHONPATH": str(ROOT)} | settings
    return subprocess.run(
        [sys.executable, "-P", "-m", "app", *arguments],
        capture_output=True,
        text=True,
        timeout=timeout_s,
        cwd=folder,
        env=environment,
    )


@pytest.fixture(scope="module")
def demo(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, subprocess.CompletedProcess[str], dict[str, Any]]:
    """One real `demo --quick`: its folder, what it said, and its result."""
    folder = tmp_path_factory.mktemp("demo")
    done = siar(folder, "demo", "--quick", "--seed", "11", "--json", "result.json")
    assert done.returncode == 0, done.stderr
    return folder, done, json.loads((folder / "result.json").read_text())


def test_the_demo_delivers_everything_once_and_in_order(demo: tuple[Path, Any, dict[str, Any]]) -> None:
    _folder, _done, result = demo

    assert {trial["clients"] for trial in result["trials"]} == {1, 3, 6}
    for trial in result["trials"]:
        assert trial["expected"] == trial["delivered"] == trial["notifications"] * trial["clients"]
        assert (trial["lost"], trial["late"], trial["duplicates"], trial["out_of_order"]) == (0, 0, 0, 0)


def test_the_result_has_the_schema_of_the_readme(demo: tuple[Path, Any, dict[str, Any]]) -> None:
    _folder, _done, result = demo
    documented = (ROOT / "README.md").read_text().split("## `result.json`")[1].split("\n## ")[0]
    trial_row, comparison_row = (
        next(line for line in documented.splitlines() if line.startswith(f"| `{key}[]`"))
        for key in ("trials", "comparison")
    )

    assert result["schema"] == 1
    top = {key for key in result if f"`{key}" not in documented}
    assert not top, "keys that the README does not name"
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
    assert json.loads(siar(folder, "report", run, "--format", "json").stdout) == result
    assert siar(folder, "report", f"runs/{run}", "--format", "html", "--output", "again.html").returncode == 0
    assert (folder / "again.html").read_text() == (folder / "runs" / run / "report.html").read_text()
    assert siar(folder, "verify", run).returncode == 0


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


@pytest.mark.parametrize(
    ("arguments", "settings", "code", "word"),
    [
        ((), {}, 2, "COMMAND"),
        (("dmeo",), {}, 2, "demo"),
        (("demo", "--quik"), {}, 2, "--quik"),
        (("demo", "--seed", "x"), {}, 2, "--seed"),
        (("demo", "--arms", "carrier"), {}, 2, "socketio"),
        (("demo", "--arms", ","), {}, 2, "--arms"),
        (("demo", "--json", "no/such/folder/x.json"), {}, 2, "no/such/folder"),
        (("demo", "--json", "."), {}, 2, "folder"),
        (("demo",), {"SIAR_MISSPELT": "1"}, 2, "SIAR_MISSPELT"),
        (("run", "missing.toml"), {}, 2, "missing.toml"),
        (("run", "--clients", "1,x"), {}, 2, "--clients"),
        (("run", "--clients", "0"), {}, 2, "count of clients"),
        (("run", "--rate", "0"), {}, 2, "rate"),
        (("run", "--payload-bytes", "1"), {}, 2, "payload"),
        (("report", "nothing"), {}, 2, "siar runs"),
        (("verify", "nothing"), {}, 2, "siar runs"),
        (("serve", "--port", "99999"), {}, 2, "SIAR_PORT"),
        (("serve", "--workers", "4"), {}, 2, "broker"),
        (("serve", "--host", "203.0.113.1"), {}, 3, "203.0.113.1"),
        (("doctor", "--url", "siar.example"), {}, 2, "https://siar.example"),
        (("doctor", "--host", "203.0.113.1"), {"LC_ALL": "C"}, 3, ""),
    ],
)
def test_a_mistake_gets_a_sentence_and_its_exit_code(
    arguments: tuple[str, ...], settings: dict[str, str], code: int, word: str, tmp_path: Path
) -> None:
    done = siar(tmp_path, *arguments, **settings)

    assert done.returncode == code, done.stderr
    assert word in done.stderr
    assert "Traceback" not in done.stderr


def test_a_damaged_run_is_named_and_the_others_are_listed(tmp_path: Path) -> None:
    for name in ("2026-01-01T00-00-00-0001", "2026-01-01T00-00-00-0002"):
        (tmp_path / "runs" / name).mkdir(parents=True)
    (tmp_path / "runs" / "2026-01-01T00-00-00-0001" / "run.sqlite").write_bytes(
        b"not a database at all" * 100
    )

    listed = siar(tmp_path, "runs")

    assert listed.returncode == 0
    assert listed.stdout.count("cannot be read") == 2


def test_every_setting_is_in_the_readme_with_its_default() -> None:
    from dataclasses import fields

    from app.settings import Settings, environment_name

    readme = (ROOT / "README.md").read_text()
    grouped = {"SIAR_HISTORY_BYTES", "SIAR_HISTORY_AGE_S"}  # named by their endings behind SIAR_HISTORY_COUNT

    missing = {
        environment_name(each.name)
        for each in fields(Settings)
        if f"`{environment_name(each.name)}`" not in readme
    }

    assert missing == grouped
