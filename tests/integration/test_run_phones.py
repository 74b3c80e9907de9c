"""`./siar run --phones N`, as somebody types it, and the runner that `/admin` starts."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.plan.scenario import plan_to_json
from app.lab.run import api
from tests.support.lab import room_plan
from tests.support.phone import phones
from tests.support.server import free_port, running_server
from tests.tools.suite import environment

pytestmark = pytest.mark.slow

SHORT = ("--blocks", "1", "--notifications", "10", "--rate", "50", "--clients", "2", "--seed", "4")


@contextlib.contextmanager
def siar(tmp_path: Path, port: int, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = [
        sys.executable,
        "-P",
        "-m",
        "app",
        "run",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        *arguments,
    ]
    given = {**environment(), "SIAR_RUNS_DIR": str(tmp_path / "runs"), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, env=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def first_line_with(process: subprocess.Popen[str], words: str) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if words in line:
            return line
    raise AssertionError(f"never said {words!r}: {process.stderr.read() if process.stderr else ''}")


def test_phones_that_join_are_measured_with_and_the_report_is_written(tmp_path: Path) -> None:
    port = free_port()
    with siar(tmp_path, port, "--phones", "2", "--json", str(tmp_path / "out.json"), *SHORT) as process:
        first_line_with(process, "Waiting for phones")
        server = api.find_server(f"http://127.0.0.1:{port}", admin_token="")
        with phones(server, ["Red Gecko", "Blue Otter"]):
            said, _ = process.communicate(timeout=240)

    result = json.loads((tmp_path / "out.json").read_text())
    assert "2 phones" in said
    assert result["run"]["simulated"] is True
    assert result["conditions"]["participants"][0]["browser"] == "none"
    assert result["plan"]["environment"] == "lan"
    assert result["totals"]["lost"] == result["totals"]["lost_in_void"]
    assert process.returncode == 0


@pytest.mark.parametrize("flags", [(), ("--no-check",)], ids=["looked at", "not looked at"])
def test_the_machine_and_then_the_server_are_looked_at_before_phones_are_told_where_to_go(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    said = []
    with siar(tmp_path, free_port(), "--phones", "2", *flags) as process:
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line)
            if "Waiting for phones" in line:
                break
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)

    before_links = "".join(said).partition("Siar serves notifications")[0].splitlines()
    if flags:
        assert before_links == []
    else:
        looked = next(n for n, line in enumerate(before_links) if "Looked at before the start" in line)
        assert any("only this machine can reach" in line for line in before_links[:looked])
        assert before_links[looked + 1 :], "nothing was said of the server that runs"


def test_a_machine_that_cannot_keep_runs_is_told_of_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("in the way")

    with siar(tmp_path, free_port(), "--phones", "2") as process:
        said, complaint = process.communicate(timeout=120)

    assert process.returncode == 3
    assert "Runs cannot be written into" in complaint
    assert said == ""


def test_ctrl_c_while_phones_gather_ends_it_without_a_run(tmp_path: Path) -> None:
    with siar(tmp_path, free_port(), "--phones", "2") as process:
        first_line_with(process, "Waiting for phones")
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=30)

    assert process.returncode == 130
    assert "nothing was measured" in complaint


def test_ctrl_c_in_the_middle_keeps_what_was_measured(tmp_path: Path) -> None:
    port = free_port()
    out = tmp_path / "out.json"
    many = ("--blocks", "50", "--notifications", "10", "--rate", "50", "--clients", "1")
    with siar(tmp_path, port, "--phones", "1", "--json", str(out), *many) as process:
        first_line_with(process, "Waiting for phones")
        server = api.find_server(f"http://127.0.0.1:{port}", admin_token="")
        with phones(server, ["Red Gecko"]) as joined:
            while len(joined[0].trials_done) < 2 and process.poll() is None:
                joined[0].join(0.1)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)

    assert process.returncode == 130
    result = json.loads(out.read_text())
    assert result["run"]["complete"] is False
    assert result["trials"]


def test_the_runner_of_the_operator_s_page_runs_a_plan_and_ends_with_its_input(tmp_path: Path) -> None:
    wanted = tmp_path / "plan.json"
    wanted.write_text(json.dumps(plan_to_json(room_plan(client_counts=(2,), idle_s=0.0, extra_blocks_max=0))))
    with running_server(tmp_path, recorder=0) as server, phones(server, ["Red Gecko", "Blue Otter"]):
        command = [
            *(sys.executable, "-P", "-m", "app.lab.run.room_runner", "--url", server.url),
            *("--plan", str(wanted), "--runs-dir", str(server.runs_dir), "--pid", str(server.process.pid)),
            *("--phones", "2", "--run"),
        ]
        given = {**environment(), "SIAR_ADMIN_TOKEN": server.admin_token}
        with subprocess.Popen(
            [*command, "whole"], env=given, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            said = process.stdout.read()
        assert process.returncode == 0, said
        assert (server.runs_dir / "whole" / "report.html").is_file()

        server.request("DELETE", "/api/room")
        cut = subprocess.run(
            [*command, "cut"], env=given, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
        )
        assert cut.returncode == 130
        assert server.request("GET", "/api/room")[1]["phase"] == "closed"
