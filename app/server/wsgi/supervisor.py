"""Child processes of a server, and the supervisor that restarts them: the clock channel and the recorder.

Each child ends when its standard input does, and the kernel closes that pipe however the parent ends: no orphans.
A child that ends before its server does is restarted by the `Supervisor`.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from app import clock
from app.core.companion import COMPANION
from app.core.errors import SiarError, Unfit
from app.paths import ROOT
from app.settings import Settings, child_environment

START_TIMEOUT_S = 10.0

PAUSE_S = 1.0
"""Pause before a restart; it doubles after each time that the child did not last."""

PAUSE_MAX_S = 60.0

LASTED_S = 60.0
"""A child that ran this long did not fail at its start: the next pause is the shortest again."""


@dataclass(slots=True)
class _Child:
    name: str
    process: subprocess.Popen[bytes]
    start: Callable[[], subprocess.Popen[bytes]]
    started_us: int
    pause_s: float = PAUSE_S
    restart_us: int | None = None
    """Time of its restart (monotonic); `None` while it runs."""


class Supervisor:
    """Restarts child processes that have ended (killed, out of memory), in a thread of the server's master.

    1. A child that ends is logged once and restarted after a pause, which doubles while it does not last.
    2. Nothing is restarted once the server is ending: whatever ended the server may have ended its children too.
    """

    def __init__(self, warn: Callable[[str], None], *, pause_s: float = PAUSE_S) -> None:
        self._warn = warn
        self._pause_s = pause_s
        self._children: list[_Child] = []
        self._is_closed = threading.Event()
        self._wakeup_fd, self._lifeline = os.pipe()
        """Read and write end of a pipe: `close` wakes the thread through it."""
        self._thread: threading.Thread | None = None

    def add(
        self, name: str, process: subprocess.Popen[bytes], start: Callable[[], subprocess.Popen[bytes]]
    ) -> None:
        """Watch `process`; `start` starts a successor, or raises `SiarError` or `OSError`."""
        self._children.append(_Child(name, process, start, clock.monotonic_us(), self._pause_s))

    def watch(self, is_ending: Callable[[], bool]) -> None:
        """Start the thread, which supervises the children until `close`."""

        def supervise() -> None:
            while not self._is_closed.is_set():
                self._sleep()
                for child in self._children:
                    if not self._is_closed.is_set():
                        self._check(child, is_ending)

        self._thread = threading.Thread(target=supervise, name="siar-supervisor", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Restart nothing any more, and end all children."""
        self._is_closed.set()
        os.write(self._lifeline, b"x")
        if self._thread is not None:
            self._thread.join(START_TIMEOUT_S + 1)
        os.close(self._lifeline)
        os.close(self._wakeup_fd)
        for child in self._children:
            request_end(child.process)  # All at once, so that they end in parallel.
        for child in self._children:
            stop(child.process)

    def _sleep(self) -> None:
        """Sleep until a child has ended or is due to be restarted."""
        now_us = clock.monotonic_us()
        due_us = [child.restart_us for child in self._children if child.restart_us is not None]
        poll_s = self._pause_s / 2
        _wait_for_end(
            [child.process.pid for child in self._children if child.restart_us is None],
            self._wakeup_fd,
            timeout_s=max(poll_s, (min(due_us) - now_us) / 1e6) if due_us else None,
            poll_s=poll_s,
        )

    def _check(self, child: _Child, is_ending: Callable[[], bool]) -> None:
        now_us = clock.monotonic_us()
        if child.process.poll() is None:
            return
        if child.restart_us is None:
            if now_us - child.started_us > LASTED_S * 1e6:
                child.pause_s = self._pause_s
            child.restart_us = now_us + round(child.pause_s * 1e6)
        elif now_us >= child.restart_us and not is_ending():
            self._restart(child)

    def _restart(self, child: _Child) -> None:
        if child.pause_s == self._pause_s:  # Logged once, not at every attempt.
            self._warn(f"The {child.name} ended; it is started again.")
        child.pause_s = min(2 * child.pause_s, PAUSE_MAX_S)
        try:
            stop(child.process)  # Closes the remaining pipes.
            child.process = child.start()
        except (SiarError, OSError):
            child.restart_us = clock.monotonic_us() + round(child.pause_s * 1e6)
        else:
            child.started_us = clock.monotonic_us()
            child.restart_us = None


def start_clock(settings: Settings, *, port: int, preferred: int = 0) -> tuple[subprocess.Popen[bytes], int]:
    """Start the clock channel's process; return it and its port. Raises `Unfit` if it does not come up.

    `port` 0: the `preferred` one if it is free, else any.
    """
    # A page from HTTPS may not open a plain WebSocket, so the channel uses the server's certificate.
    tls = ["--tls-cert", settings.tls_cert, "--tls-key", settings.tls_key] if settings.tls_cert else []
    process = _start(
        "app.server.clock_process",
        "--host", settings.host,
        "--port", str(port),
        "--preferred-port", str(preferred),
        "--anchor-us", str(clock.anchor_us()),
        "--timebase", clock.timebase(),
        "--allowed-host", *settings.allowed_hosts,
        "--per-address-max", str(settings.connections_per_address_max),
        "--trusted-proxy", *settings.trusted_proxies,
        *tls,
    )  # fmt: skip
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], START_TIMEOUT_S)
    line = process.stdout.readline() if ready else b""
    if not line:
        stop(process)
        raise Unfit("The clock channel did not start.")
    return process, int(json.loads(line)["port"])


def start_recorder(folder: Path) -> subprocess.Popen[bytes]:
    """Start the process that stores the posted deliveries of a run."""
    return _start("app.lab.run.recorder", "--folder", str(folder))


def request_end(process: subprocess.Popen[bytes]) -> None:
    """Close a child's standard input, at whose end it exits."""
    if process.stdin is not None:
        process.stdin.close()


def start_self_check() -> subprocess.Popen[bytes]:
    """Start the process that checks a new server as a client would; it prints to the server's terminal and exits."""
    return subprocess.Popen(
        [sys.executable, "-P", *COMPANION, "-m", "app.tools.doctor.after_start"],
        stdin=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is meant for the server, and the check ends with it
    )


def start_sweep(runs_dir: Path, *, days: float, keep: str) -> subprocess.Popen[bytes]:
    """Start the process that puts old runs away, except `keep`; it prints to the server's terminal and exits."""
    arguments = ("--runs-dir", str(runs_dir), "--days", str(days), "--keep", keep)
    return subprocess.Popen(
        [sys.executable, "-P", *COMPANION, "-m", "app.store.archive.sweep_process", *arguments],
        stdin=subprocess.DEVNULL,
        env=_environment(),
        start_new_session=True,  # Ctrl-C is meant for the server; a deletion that has begun is completed
    )


def stop(process: subprocess.Popen[bytes], timeout_s: float = 5.0) -> None:
    """End a child by its standard input, or by SIGKILL after the timeout."""
    request_end(process)
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def on_parent_gone(pipe_fd: int, act: Callable[[], None]) -> None:
    """Call `act` when the other end of an inherited pipe is closed, because the parent process has ended."""

    def watch() -> None:
        while os.read(pipe_fd, 4096):
            pass
        act()

    threading.Thread(target=watch, name="siar-parent", daemon=True).start()


def _environment() -> dict[str, str]:
    """Return our environment without settings, and with the path to our modules."""
    found = child_environment(os.environ)
    found["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return found


def _start(module: str, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", *COMPANION, "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=_environment(),
        start_new_session=True,  # Ctrl-C is meant for the server, which ends its children in order
    )


def _wait_for_end(pids: Sequence[int], wakeup_fd: int, *, timeout_s: float | None, poll_s: float) -> None:
    """Sleep until one of `pids` has ended, `wakeup_fd` is readable, or the time is over (`None`: no limit).

    Only Linux reports the end of a process (pidfd_open(2)). Elsewhere, or when descriptors run out, it sleeps for
    `poll_s` at most.
    """
    poll = select.poll()
    poll.register(wakeup_fd, select.POLLIN)
    handles: list[int] = []
    try:
        for pid in pids:
            handles.append(os.pidfd_open(pid))
            poll.register(handles[-1], select.POLLIN)
    except ProcessLookupError:
        timeout_s = 0.0  # It has ended, and was waited for by another thread.
    except (AttributeError, OSError):
        timeout_s = poll_s if timeout_s is None else min(poll_s, timeout_s)
    try:
        poll.poll(None if timeout_s is None else timeout_s * 1000)
    finally:
        for handle in handles:
            os.close(handle)
