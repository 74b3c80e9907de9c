"""Cleanup of processes: what a test starts ends with the tests, even if these are killed."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

PR_SET_PDEATHSIG = 1
"""`linux/prctl.h`."""

LEAVE_S = 60.0
"""Timeout for children of a killed server, which notice the end of a pipe; generous for a busy machine."""


def left_in(folder: Path, *, within_s: float = LEAVE_S) -> list[str]:
    """Return programs that still run in `folder` after the timeout; a server's children have its folder (Linux)."""
    deadline_s = time.monotonic() + within_s
    while (found := _running_in(folder)) and time.monotonic() < deadline_s:
        time.sleep(0.05)
    return found


def _running_in(folder: Path) -> list[str]:
    return [
        f"{each.info['pid']}: {' '.join(each.info['cmdline'] or [])}"
        for each in psutil.process_iter(["pid", "cwd", "cmdline", "status"])
        if each.info["cwd"]
        and Path(each.info["cwd"]).is_relative_to(folder)
        and each.info["status"]
        != psutil.STATUS_ZOMBIE  # It has ended, and its new parent has not reaped it yet.
    ]


def end_with_us() -> Callable[[], None] | None:
    """Return a `preexec_fn` that sends the program a SIGTERM when the thread that started it ends (Linux).

    It is meant for `serve` and for servers that are not ours. Passing `serve` the pipe that our gunicorn watches
    (`SIAR_PARENT_PIPE_FD`) would mark it as no service of its own, and it would not remove old runs.
    """
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def ask_the_kernel() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # The parent was killed between fork and prctl.
            os.kill(os.getpid(), signal.SIGTERM)

    return ask_the_kernel
