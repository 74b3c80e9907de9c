"""A run of the command line whose processes are ended under it: what was measured is shown, and what went wrong."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from app.core.errors import StoreError
from app.core.trial import TrialRecord
from app.store.store import Store
from tests.support import lab
from tests.support.server import ROOT

TRIALS_BEFORE = 3


@pytest.fixture
def running(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """`./siar run` with some trials behind it and in the middle of another."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SIAR_")}
    with (tmp_path / "said").open("w") as said, (tmp_path / "complained").open("w") as complained:
        process = subprocess.Popen(
            [
                *(sys.executable, "-P", "-m", "app", "run", "--clients", "1", "--blocks", "50"),
                *("--notifications", "50", "--rate", "50", "--seed", "3"),
            ],
            stdout=said,
            stderr=complained,
            text=True,
            cwd=tmp_path,
            env=environment | {"PYTHONPATH": str(ROOT), "COLUMNS": "200"},
        )
        started: list[psutil.Process] = []
        try:
            while len(trials := trials_of(tmp_path)) < TRIALS_BEFORE or not trials[-1].spec.idle:
                assert process.poll() is None, (tmp_path / "complained").read_text()
                time.sleep(0.05)
            time.sleep(0.3)  # A trial of more than a second follows each idle window.
            started = lab.descendants(process.pid)
            yield process
        finally:
            process.kill()
            process.wait()
        assert lab.wait_until_gone(started, timeout_s=10) == []


def trials_of(folder: Path) -> tuple[TrialRecord, ...]:
    """The trials and idle windows that the only run below `folder` has by now."""
    for database in folder.glob("runs/*/run.sqlite"):
        try:
            with Store.open(database.parent) as store:
                return store.load().trials
        except StoreError:
            return ()  # Its tables are being made at this moment.
    return ()


def a_worker(process: subprocess.Popen[str]) -> psutil.Process:
    servers = lab.descendants_with(process.pid, "wsgi:app")
    masters = {each.pid for each in servers if each.ppid() == process.pid}
    return next(each for each in servers if each.ppid() in masters)


def the_clock(process: subprocess.Popen[str]) -> psutil.Process:
    return lab.descendants_with(process.pid, "app.server.clock_process")[0]


def the_clients(process: subprocess.Popen[str]) -> psutil.Process:
    return lab.descendants_with(process.pid, "app.lab.run.client_process")[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("victim", "complaint"),
    [
        (a_worker, "The server"),
        (the_clock, "The clock channel is gone"),
        (the_clients, "The built-in clients' process has died"),
    ],
    ids=["worker", "clock", "clients"],
)
def test_a_failure_in_the_middle_shows_what_was_measured_and_is_said(
    running: subprocess.Popen[str],
    tmp_path: Path,
    victim: Callable[[subprocess.Popen[str]], psutil.Process],
    complaint: str,
) -> None:
    victim(running).kill()

    assert running.wait(60) == 1
    said, complained = (tmp_path / "said").read_text(), (tmp_path / "complained").read_text()
    assert f"siar: {complaint}" in complained
    assert "Traceback" not in complained
    assert "Report  " in said
    assert len(trials_of(tmp_path)) >= TRIALS_BEFORE


@pytest.mark.slow
def test_sigterm_ends_a_run_in_order_as_ctrl_c_does(running: subprocess.Popen[str], tmp_path: Path) -> None:
    started = lab.descendants(running.pid)

    running.send_signal(signal.SIGTERM)
    running.send_signal(signal.SIGTERM)

    assert running.wait(30) == 130
    assert lab.wait_until_gone(started, timeout_s=15) == []
    assert "Report  " in (tmp_path / "said").read_text()
    (folder,) = (tmp_path / "runs").iterdir()
    with Store.open(folder) as store:
        record = store.load()
    assert (record.complete, record.conditions["stopped"]) == (False, "on request")
