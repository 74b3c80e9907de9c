"""The busiest other program is found by name; the processes of the measurement itself are not among them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import psutil

from app.lab.measure.other_programs import OtherPrograms
from tests.support.patience import PATIENCE_S

BUSY = "while True: pass"
BUSY_S = 0.3
"""CPU time of the child when it is looked at again: enough to be named if it were another program."""

NOT_A_CHILD = f"""
import subprocess, sys
silent = subprocess.DEVNULL
busy = subprocess.Popen([sys.executable, "-c", {BUSY!r}], stdout=silent, stderr=silent, start_new_session=True)
print(busy.pid, flush=True)
"""
"""A program that starts a busy one and ends, so that the busy one is not below the test any more."""


@contextlib.contextmanager
def busy_elsewhere() -> Iterator[int]:
    done = subprocess.run([sys.executable, "-c", NOT_A_CHILD], capture_output=True, text=True, check=True)
    pid = int(done.stdout)
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def busy_child() -> Iterator[int]:
    child = subprocess.Popen([sys.executable, "-c", BUSY])
    try:
        yield child.pid
    finally:
        child.kill()
        child.wait()


def test_the_first_call_has_nothing_to_compare_with() -> None:
    assert OtherPrograms().busiest() is None


def test_a_busy_program_is_named() -> None:
    others = OtherPrograms()
    with busy_elsewhere():
        others.busiest()

        names: set[str] = set()
        deadline_s = time.monotonic() + PATIENCE_S
        while not any(name.startswith("python") for name in names) and time.monotonic() < deadline_s:
            time.sleep(0.3)
            if (found := others.busiest()) is not None:
                names.add(found.name)

    assert any(name.startswith("python") for name in names)


def test_a_child_of_the_measurement_is_not_another_program() -> None:
    others = OtherPrograms()
    with busy_child() as pid:
        others.busiest()
        used = psutil.Process(pid).cpu_times
        while used().user < BUSY_S:
            time.sleep(0.02)
        others.busiest()

    assert pid not in {key[0] for key in others._cpu_s}
