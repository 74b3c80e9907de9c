"""What README.md and docs/ say is typed here, line by line, into folders of the tests' own; what takes long, in tests/nightly.

`./siar` is the program behind the wrapper, which would build an environment where one is older than a requirement; one
test goes through the wrapper, and it has its own (test_wrapper.py). Settings that a reader may leave out choose a free port.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.tools.calibrate.tcp_proxy import TcpProxy
from tests.components import require_tool
from tests.support import readme
from tests.support.commands import siar
from tests.support.followers import wait_for
from tests.support.redis_server import redis_server
from tests.support.server import ROOT, RunningServer, free_port, running_server

pytestmark = pytest.mark.nightly

SHORT = ("--blocks", "1", "--notifications", "10", "--rate", "50")
"""A plan's own length is minutes."""

SERVE = [(command, needs) for command, needs in readme.commands() if command.startswith("./siar serve")]

DEMO = [command for command, _ in readme.commands() if command.startswith("./siar demo")]

BENCH = sorted({c for c, _ in readme.commands() if c.startswith("./siar bench") and "--quick" in c})
"""The others are of many minutes."""

DOCTOR = [command for command, _ in readme.commands() if command.startswith("./siar doctor")]

RUN_DONE_S = 600.0


@pytest.mark.parametrize(("command", "needs"), SERVE, ids=[command for command, _ in SERVE])
def test_a_server_that_is_started_as_the_page_says_publishes_and_ends_in_order(
    command: str, needs: str, tmp_path: Path
) -> None:
    if needs == "redis":
        require_tool("redis-server", "redis-server")
        with redis_server(tmp_path / "redis") as redis:
            serve(command.replace(":6379", f":{redis.port}"), tmp_path)
    else:
        serve(command, tmp_path)


def serve(command: str, folder: Path) -> None:
    with running_server(folder, command=("-m", "app", *command.split()[1:])) as server:
        published = server.publish("Hello", "from Siar")
        # Another worker may answer, whose copy of history is a moment behind.
        found: list[dict[str, Any]] = []

        def is_kept() -> bool:
            found[:] = kept(server)
            return bool(found)

        wait_for(is_kept, server.log)
        server.process.send_signal(signal.SIGTERM)
        code = server.process.wait(60)

    (shown,) = [json.loads(block.text) for block in readme.blocks("json")]
    (notification,) = found
    assert code == 0, server.log()
    assert notification["id"] == published["id"]
    assert shapes(notification) == shapes(shown)
    assert {name: notification[name] for name in ("title", "body", "topic", "data", "offset")} == {
        name: shown[name] for name in ("title", "body", "topic", "data", "offset")
    }
    if "sqlite" in command:
        assert (folder / "history.db").stat().st_size > 0


def test_the_line_that_shows_what_arrives_shows_what_is_published(tmp_path: Path) -> None:
    require_tool("curl", "curl")
    (line,) = re.findall(r"`(curl -N [^`]+)`", readme.README.read_text(encoding="utf-8"))

    with running_server(tmp_path) as server:
        words = line.replace("http://127.0.0.1:8080", server.url).split()
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as curl:
            assert curl.stdout is not None
            first = curl.stdout.readline()
            server.publish("Lunch", "In the courtyard.")
            shown = next(each for each in curl.stdout if each.startswith("data:") and "Lunch" in each)
            curl.terminate()

    assert first, "the stream has begun before anything is published"
    assert json.loads(shown.removeprefix("data:"))["body"] == "In the courtyard."


def kept(server: RunningServer) -> list[dict[str, Any]]:
    """History."""
    _status, history = server.request("GET", "/api/notifications?after=0")
    found: list[dict[str, Any]] = history["notifications"]
    return found


def shapes(notification: dict[str, Any]) -> dict[str, type]:
    return {name: type(value) for name, value in notification.items()}


@pytest.mark.parametrize("block", readme.blocks("toml"), ids=lambda block: f"{block.page} {block.line}")
def test_every_plan_of_the_page_runs_to_its_end(block: readme.Block, tmp_path: Path) -> None:
    port = free_port()
    with TcpProxy("127.0.0.1", port) as proxy:
        text = block.text.replace("http://127.0.0.1:9000", proxy.url)
        (tmp_path / "plan.toml").write_text(text)
        done = siar(tmp_path, "run", "plan.toml", *SHORT, timeout_s=RUN_DONE_S, SIAR_PORT=str(port))

    assert done.returncode == 0, done.stderr + done.stdout
    assert len(list((tmp_path / "runs").glob("2*/report.html"))) == 1


@pytest.mark.parametrize("command", DOCTOR)
def test_the_doctor_says_one_line_for_each_check(command: str, tmp_path: Path) -> None:
    done = siar(tmp_path, *command.split()[1:], timeout_s=RUN_DONE_S)

    # 3: this machine is not fit; it says so and is no crash.
    assert done.returncode in (0, 3), done.stderr
    assert len(done.stdout.splitlines()) > 5
    assert "Traceback" not in done.stderr


def test_the_suite_takes_the_words_that_the_page_says_go_to_pytest(tmp_path: Path) -> None:
    done = siar(tmp_path, "test", str(ROOT / "tests/unit/test_pacing.py"), timeout_s=RUN_DONE_S)

    assert done.returncode == 0, done.stdout
    assert "siar test: 1 of 1 steps ok" in done.stdout


@pytest.mark.parametrize(
    "name",
    [
        "tests.tools.screens",
        "tests.tools.simulate_statistics",
        "tests.tools.scale_report",
        "tests.tools.scale_runs",
        "tests.tools.soak",
        "tests.tools.reference",
    ],
)
def test_every_module_that_the_page_names_tells_how_it_is_used(name: str) -> None:
    done = subprocess.run([sys.executable, "-m", name, "--help"], cwd=ROOT, capture_output=True, text=True)

    assert done.returncode == 0
    assert f"python -m {name}" in done.stdout


@pytest.mark.alone
@pytest.mark.parametrize("command", DEMO)
def test_a_demo_is_a_run_that_every_other_command_of_the_page_takes(command: str, tmp_path: Path) -> None:
    done = siar(tmp_path, *command.split()[1:], timeout_s=RUN_DONE_S)

    assert done.returncode == 0, done.stderr + done.stdout
    (folder,) = (tmp_path / "runs").glob("2*")
    for name in ("run.sqlite", "report.html", "result.json", "deliveries.csv", "trials.csv", "clients.csv"):
        assert (folder / name).stat().st_size > 0, "the page says that it is in a run's folder"
    assert_all_work(tmp_path, folder.name)


def assert_all_work(folder: Path, run: str) -> None:
    """The commands that look at a run, in the page's own words."""
    (report,) = [
        each
        for each in readme.inline_commands()
        if each.startswith("./siar report") and "--figures" in each and "[" not in each
    ]
    for command in (
        "./siar runs",
        report,
        f"./siar verify {run}",
        f"./siar export {run} --output taken.zip",
        "./siar runs prune",
    ):
        words = [
            {"RUN": run, "DIR": "drawn", "DIR/figures": "drawn/figures"}.get(w, w) for w in command.split()
        ]
        done = siar(folder, *words[1:], timeout_s=RUN_DONE_S)
        assert done.returncode == 0, (command, done.stderr, done.stdout)
    assert {path.suffix for path in (folder / "drawn").iterdir()} >= {".html", ".md", ".pdf"}
    assert {path.suffix for path in (folder / "drawn" / "figures").iterdir()} >= {".svg", ".png", ".pdf"}
    opened = siar(folder, "import", "taken.zip", timeout_s=RUN_DONE_S, SIAR_RUNS_DIR="elsewhere")
    assert opened.returncode == 0, opened.stderr


@pytest.mark.alone
@pytest.mark.parametrize("command", BENCH)
def test_a_quick_bench_runs_to_its_end(command: str, tmp_path: Path) -> None:
    done = siar(tmp_path, *command.split()[1:], "--json", "result.json", timeout_s=RUN_DONE_S)

    # 1: a cell was invalid, because the machine did other things; it says so and is no crash.
    assert done.returncode in (0, 1), done.stderr
    assert (tmp_path / "result.json").stat().st_size > 0
    assert "Traceback" not in done.stderr


def test_the_wrapper_itself_runs_a_command_of_the_page(tmp_path: Path) -> None:
    """In a checkout whose environment is this test's own, so that nothing is built."""
    checkout = tmp_path / "checkout"
    marks = checkout / ".venv" / ".siar"
    marks.mkdir(parents=True)
    (checkout / ".venv" / "bin").mkdir()
    for name in ("siar", "requirements.txt"):
        shutil.copy(ROOT / name, checkout)
    shutil.copy(ROOT / "requirements.txt", marks)
    for name in ("app", "static"):
        (checkout / name).symlink_to(ROOT / name)
    (marks / "python").write_text(f"{sys.version_info.major}.{sys.version_info.minor}\npython3\n")
    python = checkout / ".venv" / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    assert "./siar runs" in readme.inline_commands()

    done = subprocess.run(
        ["./siar", "runs"],
        cwd=checkout,
        env={name: value for name, value in os.environ.items() if not name.startswith("SIAR_")},
        capture_output=True,
        text=True,
        timeout=RUN_DONE_S,
    )

    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert not (checkout / ".venv.lock").exists(), "nothing was built"
    assert done.stdout
