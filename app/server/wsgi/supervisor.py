"""The small processes that live and die with a server: the clock channel and the recorder.

Each ends when its standard input does, and the kernel closes that pipe whatever ends the parent: no orphans.
One that ends before its server does is started again by the `Supervisor`.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app import clock
from app.core.companion import COMPANION
from app.core.errors import SiarError, Unfit
from app.paths import ROOT
from app.server.wsgi.process_end import wait_for_end
from app.settings import Settings, child_environment

START_TIMEOUT_S = 10.0

PAUSE_S = 1.0
"""Before a companion is started again, twice as long after each time that it did not last."""

PAUSE_MAX_S = 60.0

LASTED_S = 60.0
"""Who ran that long has not failed at its start: the next pause is the shortest again."""


@dataclass(slots=True)
class _Kept:
    name: str
    process: subprocess.Popen[bytes]
    start: Callable[[], subprocess.Popen[bytes]]
    started_us: int
    pause_s: float = PAUSE_S
    again_us: int | None = None
    """When it is to be started again; `None` while it runs."""


class Supervisor:
    """Starts a companion again that has ended (killed, out of memory), from a thread of the server's master.

    1. One that ends is said once and started again after a pause, which doubles while it does not last.
    2. Nothing is started once the server is ending: whatever ended the server may have ended its companions too.
    """

    def __init__(self, warn: Callable[[str], None], *, pause_s: float = PAUSE_S) -> None:
        self._warn = warn
        self._pause_s = pause_s
        self._kept: list[_Kept] = []
        self._is_over = threading.Event()
        self._bell, self._rope = os.pipe()
        """Read and write end: pulled when it is over."""
        self._thread: threading.Thread | None = None

    def add(
        self, name: str, process: subprocess.Popen[bytes], start: Callable[[], subprocess.Popen[bytes]]
    ) -> None:
        """Keep `process` going; `start` makes another, or raises `SiarError` or `OSError`."""
        self._kept.append(_Kept(name, process, start, clock.monotonic_us(), self._pause_s))

    def watch(self, is_ending: Callable[[], bool]) -> None:
        """Look after them from now on, until `close`."""

        def look_again_and_again() -> None:
            while not self._is_over.is_set():
                self._sleep()
                for kept in self._kept:
                    if not self._is_over.is_set():
                        self._look(kept, is_ending)

        self._thread = threading.Thread(target=look_again_and_again, name="siar-keeper", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Start nothing any more, and end them all."""
        self._is_over.set()
        os.write(self._rope, b"x")
        if self._thread is not None:
            self._thread.join(START_TIMEOUT_S + 1)
        os.close(self._rope)
        os.close(self._bell)
        for kept in self._kept:
            tell_to_end(kept.process)  # All at once, and then each in its own time.
        for kept in self._kept:
            stop(kept.process)

    def _sleep(self) -> None:
        """Until there may be something to do: one has ended, or one is to be started again."""
        now_us = clock.monotonic_us()
        due_us = [kept.again_us for kept in self._kept if kept.again_us is not None]
        look_s = self._pause_s / 2
        wait_for_end(
            [kept.process.pid for kept in self._kept if kept.again_us is None],
            self._bell,
            timeout_s=max(look_s, (min(due_us) - now_us) / 1e6) if due_us else None,
            look_s=look_s,
        )

    def _look(self, kept: _Kept, is_ending: Callable[[], bool]) -> None:
        now_us = clock.monotonic_us()
        if kept.process.poll() is None:
            return
        if kept.again_us is None:
            if now_us - kept.started_us > LASTED_S * 1e6:
                kept.pause_s = self._pause_s
            kept.again_us = now_us + round(kept.pause_s * 1e6)
        elif now_us >= kept.again_us and not is_ending():
            self._start_again(kept)

    def _start_again(self, kept: _Kept) -> None:
        if kept.pause_s == self._pause_s:  # Said the first time, not at every attempt.
            self._warn(f"The {kept.name} ended; it is started again.")
        kept.pause_s = min(2 * kept.pause_s, PAUSE_MAX_S)
        try:
            stop(kept.process)  # Closes what is left of its pipes.
            kept.process = kept.start()
        except (SiarError, OSError):
            kept.again_us = clock.monotonic_us() + round(kept.pause_s * 1e6)
        else:
            kept.started_us = clock.monotonic_us()
            kept.again_us = None


def start_clock(settings: Settings, *, port: int) -> tuple[subprocess.Popen[bytes], int]:
    """The clock channel's process and its port. Raises `Unfit` when it does not come up."""
    # A page that came over HTTPS may open no plain WebSocket: the channel shows the same certificate.
    tls = ["--tls-cert", settings.tls_cert, "--tls-key", settings.tls_key] if settings.tls_cert else []
    process = _start(
        "app.server.clock_process",
        "--host", settings.host,
        "--port", str(port),
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
    """The process that puts posted deliveries of a run into its store."""
    return _start("app.lab.run.recorder", "--folder", str(folder))


def tell_to_end(process: subprocess.Popen[bytes]) -> None:
    """Close a companion's standard input, for whose end it looks out."""
    if process.stdin is not None:
        process.stdin.close()


def start_self_check() -> subprocess.Popen[bytes]:
    """The process that looks at a new server as a client would; it speaks in the server's terminal and ends by itself."""
    return subprocess.Popen(
        [sys.executable, "-P", *COMPANION, "-m", "app.tools.doctor.after_start"],
        stdin=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for the server, with which it ends
    )


def start_sweep(runs_dir: Path, *, days: float, keep: str) -> subprocess.Popen[bytes]:
    """The process that puts old runs away, all but `keep`; it speaks in the server's terminal and ends by itself."""
    arguments = ("--runs-dir", str(runs_dir), "--days", str(days), "--keep", keep)
    return subprocess.Popen(
        [sys.executable, "-P", *COMPANION, "-m", "app.store.archive.sweep_process", *arguments],
        stdin=subprocess.DEVNULL,
        env=_environment(),
        start_new_session=True,  # Ctrl-C is for the server; what is half deleted is deleted to its end
    )


def stop(process: subprocess.Popen[bytes], timeout_s: float = 5.0) -> None:
    """End a companion: politely by its standard input, then not."""
    tell_to_end(process)
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def on_parent_gone(pipe_fd: int, act: Callable[[], None]) -> None:
    """Call `act` once the other end of an inherited pipe is closed: the process that started us has gone."""

    def watch() -> None:
        while os.read(pipe_fd, 4096):
            pass
        act()

    threading.Thread(target=watch, name="siar-parent", daemon=True).start()


def _environment() -> dict[str, str]:
    """Ours without the settings, and where the modules are."""
    found = child_environment(os.environ)
    found["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return found


def _start(module: str, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", *COMPANION, "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=_environment(),
        start_new_session=True,  # Ctrl-C is for the server, which ends its companions in order
    )
