"""None are left: what a test starts ends with the tests, also when these are killed and clean up nothing."""

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

LEAVE_S = 10.0
"""How long a companion of a killed server may take: it sees the end of a pipe, and a busy machine is slow."""


def left_in(folder: Path, *, within_s: float = LEAVE_S) -> list[str]:
    """Programs that still run in `folder` when they had time to leave: a server's children work where it does (Linux)."""
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
        and each.info["status"] != psutil.STATUS_ZOMBIE  # It has ended; who has it adopted looks later.
    ]


def end_with_us() -> Callable[[], None] | None:
    """A `preexec_fn`: a SIGTERM for the program when the thread that starts it has ended (Linux).

    For `serve` and for servers that are not ours. To hand `serve` the pipe by which our gunicorn notices it
    (`SIAR_PARENT_PIPE_FD`) would tell it that it is no service of its own: it would leave old runs alone.
    """
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def ask_the_kernel() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # They were killed between fork and prctl.
            os.kill(os.getpid(), signal.SIGTERM)

    return ask_the_kernel
