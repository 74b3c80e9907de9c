"""However a runner ends, its run can be read and nothing that it started stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from app.store.store import Store
from tests.support import lab
from tests.support.server import ROOT

RUNNER = """
import sys
from pathlib import Path
from app.lab.run import runner, server_process
from app.lab.run.progress import Progress
from tests.support import lab

class Tell(Progress):
    def trial(self, spec, *, done, trials, left_s):
        print(done, flush=True)

runs_dir = Path(sys.argv[1])
with server_process.start(runs_dir=runs_dir) as started:
    runner.run_plan(lab.short_plan(blocks=100), server=started.server, runs_dir=runs_dir, run_id="r",
                    progress=Tell())
print("ended", flush=True)
"""


@pytest.fixture
def running(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A runner that has finished at least two trials, in the middle of a third."""
    process = subprocess.Popen(
        [sys.executable, "-c", RUNNER, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
    )
    with process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) >= 3:
                break
        yield process
        process.kill()


@pytest.mark.slow
def test_a_killed_runner_leaves_a_readable_run_and_no_process(
    running: subprocess.Popen[str], tmp_path: Path
) -> None:
    started = lab.descendants(running.pid)
    assert len(started) >= 4, "gunicorn's master and worker, the clock and the clients"

    running.send_signal(signal.SIGKILL)
    running.wait()

    assert lab.wait_until_gone(started, timeout_s=15) == []
    with Store.open(tmp_path / "r") as store:
        record = store.load()
    assert len(record.trials) >= 3
    assert record.complete is False


def test_ctrl_c_ends_in_order_and_leaves_no_process(running: subprocess.Popen[str], tmp_path: Path) -> None:
    started: list[psutil.Process] = lab.descendants(running.pid)

    os.killpg(running.pid, signal.SIGINT)
    assert running.stdout is not None
    rest = running.stdout.read().split()
    running.wait()

    assert (running.returncode, rest[-1]) == (0, "ended")
    assert lab.wait_until_gone(started, timeout_s=15) == []
    with Store.open(tmp_path / "r") as store:
        record = store.load()
    assert len(record.trials) >= 3
    assert (record.complete, record.conditions["stopped"]) == (False, "on request")
