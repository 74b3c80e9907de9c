"""Child processes that never outlive the process that started them.

Three mechanisms are used, because none is sufficient alone:

- an orderly stop: SIGTERM, then SIGKILL to the whole group;
- a pipe whose write end only the parent holds, so that children read an end of file when it dies;
- on Linux, a signal by the kernel when the parent dies. In fact it is sent when the thread dies that started the child, so
  children have to be started by a thread that lives on.

Children run in a session of their own, so that Ctrl-C reaches only the parent, which stops them in order.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import IO, Any

from app.paths import ROOT
from app.settings import child_environment

_PR_SET_PDEATHSIG = 1
"""Constant of `linux/prctl.h`."""


def python_module(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module with this interpreter; -P keeps the working directory off its path."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment(**changes: str) -> dict[str, str]:
    """Return a child's environment: this process's without `SIAR_*`, with the checkout on the Python path, and `changes`."""
    kept = child_environment(os.environ)
    paths = [str(ROOT), *filter(None, [kept.get("PYTHONPATH")])]
    return {**kept, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1", **changes}


def spawn(
    command: Sequence[str],
    *,
    env: dict[str, str],
    stdin: int | IO[Any] | None = subprocess.DEVNULL,
    stdout: int | IO[Any] | None = subprocess.DEVNULL,
    stderr: int | IO[Any] | None = None,
    pass_fds: Sequence[int] = (),
    death_signal: int = signal.SIGKILL,
) -> subprocess.Popen[bytes]:
    """Start a child in a new session; on Linux it gets `death_signal` when this process dies."""
    return subprocess.Popen(
        command,
        env=env,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        pass_fds=pass_fds,
        start_new_session=True,
        preexec_fn=_die_with_parent(death_signal),  # noqa: PLW1509 - two system calls, no lock, no import
    )


def stop(process: subprocess.Popen[bytes], *, patience_s: float) -> int:
    """End a child and its group by SIGTERM, and by SIGKILL after `patience_s`; return its exit code."""
    _signal_group(process, signal.SIGTERM)
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        pass
    finally:
        # Also ends children that it has left behind. The group's id is not reused while one of them lives.
        _signal_group(process, signal.SIGKILL)
    return process.wait()


def _signal_group(process: subprocess.Popen[bytes], number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _die_with_parent(number: int) -> Callable[[], None] | None:
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def ask_the_kernel() -> None:
        prctl(_PR_SET_PDEATHSIG, number)
        if os.getppid() != parent:  # It died between fork and prctl.
            os.kill(os.getpid(), number)

    return ask_the_kernel
