"""The runner as a child of the server: one at a time, ended with it, its last words kept.

The runner is told to stop by SIGINT, and by the end of its standard input, which comes whatever ends the server.
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

LOOK_S = 0.5
"""How often the server looks whether the runner has ended: a system call of microseconds."""

WORDS_BYTES_MAX = 4000
LOG_BYTES_MAX = 1024 * 1024
"""Of what a runner says; beyond it the beginning is forgotten."""

PATIENCE_US = 10_000_000
"""A runner that has been asked to stop writes its report; who asks again after that ends it at once."""

REMEMBERED_MAX = 20
"""Runners that have ended, whose last words can still be asked for."""


@dataclass(frozen=True, slots=True)
class Order:
    """What a runner is started with."""

    run: str
    plan_json: str
    url: str
    """Where it reaches this server."""
    runs_dir: Path
    token: str = field(repr=False)
    certificate: str
    """By which it knows the server, where that speaks TLS; empty for plain HTTP."""
    phones: int | None
    """How many phones to wait for; `None`: built-in clients."""


@dataclass(slots=True)
class Runner:
    """A runner that was started."""

    order: Order
    process: subprocess.Popen[bytes] = field(repr=False)
    log: IO[bytes] = field(repr=False)
    plan_path: str
    stop_asked_us: int | None = None
    _last_words: str | None = field(default=None, repr=False)

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.process.poll() is not None

    def plan(self) -> dict[str, Any]:
        """What it was told to run, as plain values."""
        found: dict[str, Any] = json.loads(self.order.plan_json)
        return found

    def last_words(self) -> str:
        """The end of what it said."""
        if self._last_words is not None:
            return self._last_words
        try:
            size = os.fstat(self.log.fileno()).st_size
            tail = os.pread(self.log.fileno(), WORDS_BYTES_MAX, max(0, size - WORDS_BYTES_MAX))
        except (OSError, ValueError):  # It is being buried just now, or the disk fails.
            return self._last_words or ""  # type: ignore[redundant-expr]  # Set by another thread.
        return tail.decode(errors="replace").strip()

    def bound_log(self) -> None:
        """Keep the end of a log that has grown too long."""
        if os.fstat(self.log.fileno()).st_size > LOG_BYTES_MAX:
            kept = self.last_words()
            os.ftruncate(self.log.fileno(), 0)
            os.write(self.log.fileno(), kept.encode() + b"\n")

    def bury(self) -> None:
        """Keep the last words, let go of the files."""
        self._last_words = self.last_words()
        with contextlib.suppress(OSError):
            os.unlink(self.plan_path)
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()
        self.log.close()

    def to_json(self, language: str) -> dict[str, Any]:
        """What the operator is told of it: how it ended in the reader's language, the log as it was written."""
        words, said = _parted(self.last_words())
        exit_code = self.process.poll()
        if said is None and exit_code is not None and exit_code < 0:
            said = ending("killed", signal=-exit_code)
        return {
            "state": "ended" if exit_code is not None else self._state(),
            "exit_code": exit_code,
            "phones": self.order.phones,
            "last_words": words,
            "ending": None if said is None or exit_code is None else _told(said, language),
        }

    def _state(self) -> str:
        return "running" if self.stop_asked_us is None else "stopping"


class Runners:
    """The runner that runs, and those that did. `on_end` is called with each that has ended."""

    def __init__(
        self, on_end: Callable[[Runner], None] = lambda _runner: None, *, patience_us: int = PATIENCE_US
    ) -> None:
        self._on_end = on_end
        self._patience_us = patience_us
        self._runners: OrderedDict[str, Runner] = OrderedDict()
        self._lock = threading.Lock()

    def start(self, order: Order, *, command: Sequence[str] | None = None) -> Runner:
        """Start a runner. Raises `Conflict` while there is one, `OSError` when the machine has no room for it."""
        with self._lock:
            now = self._now()
            if now is not None:
                raise Conflict(refusal("another_run_under_way", run=now.order.run))
            runner = _spawn(order, command or _command(order))
            self._runners[order.run] = runner
            while len(self._runners) > REMEMBERED_MAX:
                self._runners.popitem(last=False)
        spawn(lambda: self._watch(runner))
        return runner

    def running(self) -> Runner | None:
        """The runner that has not ended."""
        with self._lock:
            return self._now()

    def of(self, run: str) -> Runner | None:
        """The runner that this server started for a run, ended or not."""
        with self._lock:
            return self._runners.get(run)

    def stop(self, run: str) -> None:
        """Ask a run's runner to end in order, as Ctrl-C does, or end one that did not. Raises `Conflict`."""
        runner = self.of(run)
        if runner is None or runner.is_over:
            raise Conflict(refusal("run_not_under_way", run=run[:64]))
        now_us = clock.monotonic_us()
        if runner.stop_asked_us is None:
            runner.stop_asked_us = now_us
            runner.process.send_signal(signal.SIGINT)
        elif now_us - runner.stop_asked_us > self._patience_us:
            runner.process.kill()

    def end(self) -> None:
        """The server ends: so does the runner."""
        runner = self.running()
        if runner is not None:
            with contextlib.suppress(Conflict):  # It has just ended by itself.
                self.stop(runner.order.run)

    def _now(self) -> Runner | None:
        return next((each for each in reversed(self._runners.values()) if not each.is_over), None)

    def _watch(self, runner: Runner) -> None:
        while not runner.is_over:
            with contextlib.suppress(OSError, ValueError):
                runner.bound_log()
            time.sleep(LOOK_S)
        try:
            runner.bury()
        finally:  # Or the room would stay as it was, with phones that wait in it.
            self._on_end(runner)


def _parted(words: str) -> tuple[str, Sentence | None]:
    """The log without its last line, where that says for the server how the runner ended (app/lab/run/room_runner.py)."""
    before, _, last = words.rpartition("\n")
    try:
        said = from_json(json.loads(last)["ending"])
    except (ValueError, KeyError, TypeError):
        return words, None
    return (before.rstrip(), said) if isinstance(said, Sentence) else (words, None)


def _told(said: Sentence, language: str) -> dict[str, Any]:
    return {
        "code": said.code.removeprefix(ENDING),
        "parameters": parameters(said.places),
        "text": in_language(language, said),
    }


def _spawn(order: Order, command: Sequence[str]) -> Runner:
    plan_path = _write_plan(order)
    log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the runner, and has no name
    fcntl.fcntl(log, fcntl.F_SETFL, os.O_APPEND)  # Both write at its end, wherever that is after `bound_log`.
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
                "SIAR_ADMIN_TOKEN": order.token,  # Among the arguments every user of the machine could read it.
            },
            start_new_session=True,  # Ctrl-C is for the server, which ends its runner in order.
        )
    except BaseException:
        log.close()
        os.unlink(plan_path)
        raise
    return Runner(order, process, log, plan_path)


def _write_plan(order: Order) -> str:
    """Path of a file with the order's plan. Raises `OSError`, and leaves none then."""
    handle, path = tempfile.mkstemp(prefix="siar-plan-", suffix=".json")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(order.plan_json)
    except OSError:
        os.unlink(path)
        raise
    return path


def _server_pid() -> int:
    """Root of the server's processes: gunicorn's master where one of our workers runs, else this process."""
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
