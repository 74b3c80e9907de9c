"""`./siar load` and Locust by itself, against real servers."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import requests

from app.cli import main as cli
from app.tools.bench.machine import Cores
from app.tools.calibrate.tcp_proxy import TcpProxy
from app.tools.load.floor import prove
from app.tools.load.generators import MODULE, GeneratorProcess, Generators
from tests.support.commands import load, siar, valid_load
from tests.support.proxy import delayed
from tests.support.server import ADMIN_TOKEN, ROOT, free_port, running_server, stop

SMALL = ("--users", "4", "--duration", "1s", "--rate", "10", "--blocks", "1", "--quick")


def test_locusts_users_receive_everything_of_a_neutral_source_with_the_kernels_stamps() -> None:
    with GeneratorProcess(module=MODULE) as process:
        generators = Generators([process])
        lines = [
            prove(
                generators,
                Cores(None, None),
                transport=transport,
                users=5,
                rate_hz=50,
                spawn_rate=100,
                pause=process.pause,
            )
            for transport in ("sse", "socketio")
        ]

    for line in lines:
        assert (line.connected, line.lost) == (5, 0)
        assert line.delay_ms_p50 is not None
        assert line.self_ms_p50 is not None
        assert line.delay_ms_p50 > 0
        assert not any(each.code == "stamps_missing" for each in line.warnings)


def test_a_typo_in_a_gate_is_a_usage_error_with_the_names(capsys: pytest.CaptureFixture[str]) -> None:
    code = cli.main(["load", "--gate", "delay_p95<100"])

    said = capsys.readouterr().err
    assert code == 2
    assert "delay_ms_p95" in said
    assert "errors" in said


@pytest.mark.alone
@pytest.mark.nightly
def test_users_are_shared_out_among_processes_and_nothing_is_lost_in_putting_them_together(
    tmp_path: Path,
) -> None:
    _done, result = load(tmp_path, *SMALL, "--transport", "sse", "--processes", "3", "--gate", "lost==0")

    (level,) = result["load"]["levels"]
    assert (level["lost"], level["duplicates"]) == (0, 0)
    assert level["attempts"] >= 4 * level["trials"]


@pytest.mark.alone
@pytest.mark.nightly
def test_a_small_load_passes_its_gates_and_leaves_a_run_like_any_other(tmp_path: Path) -> None:
    done, result = load(tmp_path, *SMALL, "--gate", "delay_ms_p95<5000", "lost==0", "errors==0")

    # Nothing but the verdict depends on whether the machine was quiet.
    assert done.returncode == (0 if result["load"]["valid"] else 3), done.stdout
    assert done.stdout.index("delay_ms_p95<5000") < done.stdout.index("Levels")
    levels = {(each["arm"], each["users"]): each for each in result["load"]["levels"]}
    assert set(levels) == {("sse", 4), ("socketio", 4)}
    for level in levels.values():
        assert (level["lost"], level["errors"], level["duplicates"]) == (0, 0, 0)
        assert level["expected"] == 4 * 10 * level["trials"]
        # A read that held two took both out of the kernel's lane; the handler's has all.
        assert counted(level["lanes"]["handler"]) == 4 * 10 * level["believed"]
        assert level["samples"] + counted(level["lanes"]["unstamped"]) == 4 * 10 * level["believed"]
        assert level["attempts"] == 4 * level["trials"]
        if level["believed"]:
            assert 0 < level["delay_ms_p50"] <= level["handler_delay_ms_p50"]
    assert {(each["transport"], each["lost"]) for each in result["load"]["floor"]} == {
        ("sse", 0),
        ("socketio", 0),
    }
    assert all(each["expected"] == each["delivered"] for each in result["trials"])
    run = result["run"]["id"]
    assert siar(tmp_path, "verify", run).returncode == 0
    assert siar(tmp_path, "report", run).returncode == 0
    assert ElementTree.parse(tmp_path / "load.xml").getroot()[0].get("tests") == "5"


def counted(histogram: dict[str, Any]) -> int:
    """How many a histogram holds."""
    return sum(count for _bucket, count in histogram["counts"])


@pytest.mark.alone
@pytest.mark.nightly
def test_a_server_that_is_slowed_on_purpose_misses_its_gate_with_99(tmp_path: Path) -> None:
    with (
        running_server(tmp_path) as server,
        TcpProxy("127.0.0.1", server.port, to_client=delayed(0.15)) as slowed,
    ):
        done, result = valid_load(
            tmp_path,
            *SMALL,
            *("--transport", "sse", "--url", slowed.url, "--token", ADMIN_TOKEN),
            *("--gate", "delay_ms_p95<100", "lost==0"),
        )

    assert done.returncode == 99
    gates = {each["name"]: each for each in result["load"]["gates"]}
    assert not gates["delay_ms_p95"]["held"]
    assert gates["delay_ms_p95"]["worst"] >= 150
    assert gates["lost"]["held"]
    assert done.stdout.startswith("1 of 2 gates missed: p95 ")
    assert "\n✗ delay_ms_p95<100: " in done.stdout


@pytest.mark.alone
@pytest.mark.nightly
def test_a_saturated_generator_voids_the_run_with_3_and_says_what_to_do(tmp_path: Path) -> None:
    done, result = load(
        tmp_path,
        *("--users", "600", "--rate", "250", "--duration", "1.5s", "--blocks", "1", "--quick"),
        *("--transport", "sse", "--processes", "1", "--spawn-rate", "600", "--gate", "errors==0"),
    )

    assert done.returncode == 3
    assert not result["load"]["valid"]
    (trouble,) = [each for each in result["load"]["troubles"] if " void (" in each]
    assert "generator_busy" in trouble or "generator_late" in trouble
    assert "--processes" in done.stdout
    assert "? errors==0" in done.stdout


@pytest.mark.alone
@pytest.mark.nightly
def test_a_ramp_stops_where_a_gate_breaks(tmp_path: Path) -> None:
    with (
        running_server(tmp_path) as server,
        TcpProxy("127.0.0.1", server.port, to_client=delayed(0.15)) as slowed,
    ):
        done, result = load(
            tmp_path,
            *("--shape", "ramp", "--users", "2,4,8", "--duration", "1s", "--rate", "5", "--transport", "sse"),
            *("--quick", "--url", slowed.url, "--token", ADMIN_TOKEN, "--gate", "delay_ms_p95<100"),
        )

    assert done.returncode == (99 if result["load"]["valid"] else 3)
    assert [each["users"] for each in result["load"]["levels"]] == [2]
    assert result["load"]["capacity"] == {"sse": None}


@pytest.mark.alone
@pytest.mark.nightly
def test_an_agreement_has_both_sides_in_each_block(tmp_path: Path) -> None:
    _done, result = load(
        tmp_path,
        *(
            "--agreement",
            "--users",
            "2",
            "--duration",
            "1s",
            "--blocks",
            "2",
            "--quick",
            "--transport",
            "sse",
        ),
    )

    (found,) = result["load"]["agreement"]
    arms = {each["arm"]: each for each in result["load"]["levels"]}
    assert set(arms) == {"sse, built-in", "sse, locust"}
    assert all(each["lost"] == 0 for each in arms.values())
    assert found["users"] == 2


@pytest.mark.alone
@pytest.mark.nightly
def test_long_polling_loses_nothing_either(tmp_path: Path) -> None:
    _done, result = load(
        tmp_path,
        *("--users", "3", "--duration", "2s", "--rate", "2", "--blocks", "1", "--quick"),
        *("--transport", "socketio-polling", "--gate", "lost==0"),
    )

    (level,) = result["load"]["levels"]
    assert (level["lost"], level["duplicates"]) == (0, 0)
    assert level["expected"] == 3 * 4 * level["trials"]


def locust(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """Locust by itself, headless, as its own documentation has it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SIAR_")}
    return subprocess.run(
        [sys.executable, "-m", "locust", "-f", str(ROOT / "loadtests/locustfile.py"), "--headless", *flags],
        capture_output=True,
        text=True,
        timeout=90,
        cwd=folder,
        env=environment,
    )


@pytest.mark.alone
@pytest.mark.nightly
@pytest.mark.parametrize("processes", [(), ("--processes", "2")], ids=["one process", "master and workers"])
def test_locust_by_itself_shows_connects_and_delays_without_a_gap(
    tmp_path: Path, processes: tuple[str, ...]
) -> None:
    with running_server(tmp_path) as server:
        done = locust(
            tmp_path,
            *("--host", server.url, "-u", "6", "-r", "6", "-t", "4s", "--only-summary", "--csv", "seen"),
            *("--publish-rate", "10", "--operator-token", ADMIN_TOKEN, *processes),
            *("SseUser", "SocketIoUser"),
        )

    assert done.returncode == 0, done.stderr
    rows = [line.split(",") for line in (tmp_path / "seen_stats.csv").read_text().splitlines()]
    head = rows[0]
    seen = {
        (row[0], ",".join(row[1 : len(row) - len(head) + 2]).strip('"')): row for row in rows[1:] if row[0]
    }
    for transport in ("sse", "socketio"):
        assert (transport, "connect") in seen
        assert (transport, "delay, kernel") in seen
        assert (transport, "gap") not in seen
        assert (transport, "duplicate") not in seen


@pytest.mark.alone
@pytest.mark.nightly
def test_the_web_ui_starts_and_stops_users_who_receive(tmp_path: Path) -> None:
    port = free_port()
    with running_server(tmp_path) as server, (tmp_path / "locust.log").open("wb") as log:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "locust", "-f", str(ROOT / "loadtests/locustfile.py")),
                *("--web-host", "127.0.0.1", "--web-port", str(port), "--host", server.url),
                *("--publish-rate", "10", "--operator-token", ADMIN_TOKEN),
            ],
            cwd=tmp_path,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            seen = swarmed(f"http://127.0.0.1:{port}", server.url)
        finally:
            stop(process)

    assert {("sse", "delay, kernel"), ("socketio", "delay, kernel")} <= seen


def swarmed(url: str, host: str) -> set[tuple[str, str]]:
    """What Locust's page counts, once users of both transports were seen to receive; then all are stopped."""
    wanted = {("sse", "delay, kernel"), ("socketio", "delay, kernel")}
    seen: set[tuple[str, str]] = set()
    started = False
    deadline_s = time.monotonic() + 60
    while not wanted <= seen and time.monotonic() < deadline_s:
        time.sleep(0.2)
        with contextlib.suppress(OSError):
            if not started:
                form = {"user_count": "4", "spawn_rate": "4", "host": host}
                started = requests.post(f"{url}/swarm", data=form, timeout=10).ok
            told = requests.get(f"{url}/stats/requests", timeout=10).json()["stats"]
            seen = {(each["method"], each["name"]) for each in told if each["num_requests"]}
    assert requests.post(f"{url}/stop", timeout=10).ok
    return seen
