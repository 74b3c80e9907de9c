"""The runner as a child process of the server: one at a time, ended with the server, its last output tail.

A runner stops on SIGINT and at the end of its standard input, which also comes if the server is killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from app import clock
from app.core.companion import COMPANION
from app.core.errors import Conflict
from app.core.sentence import Sentence, parameters
from app.i18n import ENDING, ending, from_json, in_language, refusal
from app.paths import ROOT
from app.server.wsgi import mode
from app.server.wsgi.spawn import spawn
from app.settings import child_environment

MODULE = "app.lab.run.room_runner"

POLL_S = 0.5
"""Interval at which the server polls whether the runner has ended; each poll is a system call of microseconds."""

TAIL_BYTES_MAX = 4000
LOG_BYTES_MAX = 1024 * 1024
"""Upper bounds of the output: what is reported, and the log file, of which the beginning is dropped."""

PATIENCE_US = 10_000_000
"""Time for a runner to write its report after a first stop request; a stop request after it kills the runner."""

RUNNERS_KEPT_MAX = 20
"""Number of runners, ended ones included, whose last output can be queried."""


@dataclass(frozen=True, slots=True)
class Order:
    """Parameters for starting a runner."""

    run: str
    plan_json: str
    url: str
    """URL at which the runner reaches this server."""
    runs_dir: Path
    token: str = field(repr=False)
    certificate: str
    """Certificate by which the runner verifies a TLS server; empty for plain HTTP."""
    phones: int | None
    """Number of phones to wait for; `None` for built-in clients."""


@dataclass(slots=True)
class Runner:
    """A runner process that was started."""

    order: Order
    process: subprocess.Popen[bytes] = field(repr=False)
    log: IO[bytes] = field(repr=False)
    plan_path: str
    stop_asked_us: int | None = None
    _last_output: str | None = field(default=None, repr=False)

    @property
    def is_over(self) -> bool:
        """Return whether the process has ended."""
        return self.process.poll() is not None

    def plan(self) -> dict[str, Any]:
        """Return the plan that it runs, as plain values."""
        found: dict[str, Any] = json.loads(self.order.plan_json)
        return found

    def last_output(self) -> str:
        """Return the end of its output."""
        if self._last_output is not None:
            return self._last_output
        try:
            size = os.fstat(self.log.fileno()).st_size
            tail = os.pread(self.log.fileno(), TAIL_BYTES_MAX, max(0, size - TAIL_BYTES_MAX))
        except (OSError, ValueError):  # Another thread is closing the log, or the disk fails.
            return self._last_output or ""  # type: ignore[redundant-expr]  # Set by another thread.
        return tail.decode(errors="replace").strip()

    def bound_log(self) -> None:
        """Truncate a log that is too long, keeping its end."""
        if os.fstat(self.log.fileno()).st_size > LOG_BYTES_MAX:
            tail = self.last_output()
            os.ftruncate(self.log.fileno(), 0)
            os.write(self.log.fileno(), tail.encode() + b"\n")

    def release(self) -> None:
        """Keep the last output and release the files of an ended runner."""
        self._last_output = self.last_output()
        with contextlib.suppress(OSError):
            os.unlink(self.plan_path)
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()
        self.log.close()

    def to_json(self, language: str) -> dict[str, Any]:
        """Return its state for the operator: its ending in the reader's language, and the end of its log unchanged."""
        output, sentence = _split_ending(self.last_output())
        exit_code = self.process.poll()
        if sentence is None and exit_code is not None and exit_code < 0:
            sentence = ending("killed", signal=-exit_code)
        return {
            "state": "ended" if exit_code is not None else self._state(),
            "exit_code": exit_code,
            "phones": self.order.phones,
            "last_words": output,
            "ending": None if sentence is None or exit_code is None else _ending_to_json(sentence, language),
        }

    def _state(self) -> str:
        return "running" if self.stop_asked_us is None else "stopping"


class Runners:
    """The current runner and earlier ones. `on_end` is called with each one after it has ended."""

    def __init__(
        self,
        on_end: Callable[[Runner], None] = lambda _runner: None,
        *,
        patience_us: int = PATIENCE_US,
        now_us: Callable[[], int] = clock.monotonic_us,
    ) -> None:
        self._on_end = on_end
        self._now_us = now_us
        self._patience_us = patience_us
        self._runners: OrderedDict[str, Runner] = OrderedDict()
        self._lock = threading.Lock()

    def start(self, order: Order, *, command: Sequence[str] | None = None) -> Runner:
        """Start a runner. Raises `Conflict` if one is running, `OSError` if the process cannot be created."""
        with self._lock:
            current = self._current()
            if current is not None:
                raise Conflict(refusal("another_run_under_way", run=current.order.run))
            runner = _spawn(order, command or _command(order))
            self._runners[order.run] = runner
            while len(self._runners) > RUNNERS_KEPT_MAX:
                self._runners.popitem(last=False)
        spawn(lambda: self._watch(runner))
        return runner

    def running(self) -> Runner | None:
        """Return the runner that has not ended, or `None`."""
        with self._lock:
            return self._current()

    def of(self, run: str) -> Runner | None:
        """Return the runner that this server started for a run, ended or not."""
        with self._lock:
            return self._runners.get(run)

    def stop(self, run: str) -> None:
        """Ask a run's runner to stop, as Ctrl-C does; a repeated call after `PATIENCE_US` kills it. Raises `Conflict`."""
        runner = self.of(run)
        if runner is None or runner.is_over:
            raise Conflict(refusal("run_not_under_way", run=run[:64]))
        now_us = self._now_us()
        if runner.stop_asked_us is None:
            runner.stop_asked_us = now_us
            runner.process.send_signal(signal.SIGINT)
        elif now_us - runner.stop_asked_us > self._patience_us:
            runner.process.kill()

    def end(self) -> None:
        """Stop the runner because the server ends."""
        runner = self.running()
        if runner is not None:
            with contextlib.suppress(Conflict):  # It has just ended.
                self.stop(runner.order.run)

    def _current(self) -> Runner | None:
        return next((each for each in reversed(self._runners.values()) if not each.is_over), None)

    def _watch(self, runner: Runner) -> None:
        while not runner.is_over:
            with contextlib.suppress(OSError, ValueError):
                runner.bound_log()
            time.sleep(POLL_S)
        try:
            runner.release()
        finally:  # Otherwise the room would stay open, with phones waiting in it.
            self._on_end(runner)


def _split_ending(output: str) -> tuple[str, Sentence | None]:
    """Split the log from its last line if that is the runner's own report of how it ended (app/lab/run/room_runner.py)."""
    before, _, last = output.rpartition("\n")
    try:
        sentence = from_json(json.loads(last)["ending"])
    except (ValueError, KeyError, TypeError):
        return output, None
    return (before.rstrip(), sentence) if isinstance(sentence, Sentence) else (output, None)


def _ending_to_json(sentence: Sentence, language: str) -> dict[str, Any]:
    return {
        "code": sentence.code.removeprefix(ENDING),
        "parameters": parameters(sentence.places),
        "text": in_language(language, sentence),
    }


def _spawn(order: Order, command: Sequence[str]) -> Runner:
    plan_path = _write_plan(order)
    log = tempfile.TemporaryFile()  # noqa: SIM115 - unnamed, and closed by `release`
    # Both processes append, also after `bound_log` truncated it.
    fcntl.fcntl(log, fcntl.F_SETFL, os.O_APPEND)
    environment = child_environment(os.environ)
    if order.certificate:
        environment.setdefault("SSL_CERT_FILE", order.certificate)
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    try:
        process = subprocess.Popen(
            [*command, "--plan", plan_path],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={
                **environment,
                "PYTHONPATH": os.pathsep.join(paths),
                "PYTHONUNBUFFERED": "1",
                "SIAR_ADMIN_TOKEN": order.token,  # Not an argument, which every user of the machine could read.
            },
            start_new_session=True,  # Ctrl-C must reach the server only, which then stops its runner.
        )
    except BaseException:
        log.close()
        os.unlink(plan_path)
        raise
    return Runner(order, process, log, plan_path)


def _write_plan(order: Order) -> str:
    """Write the order's plan to a temporary file and return its path. Raises `OSError` without leaving a file."""
    handle, path = tempfile.mkstemp(prefix="siar-plan-", suffix=".json")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(order.plan_json)
    except OSError:
        os.unlink(path)
        raise
    return path


def _server_pid() -> int:
    """Return the pid of the server's root process: gunicorn's master if a worker runs here, else this process."""
    return os.getpid() if mode.current() == mode.THREADS else os.getppid()


def _command(order: Order) -> list[str]:
    clients = ["--clients"] if order.phones is None else ["--phones", str(order.phones)]
    return [
        sys.executable, "-P", *COMPANION, "-m", MODULE,
        "--url", order.url,
        "--run", order.run,
        "--runs-dir", str(order.runs_dir.resolve()),
        "--pid", str(_server_pid()),
        *clients,
    ]  # fmt: skip
