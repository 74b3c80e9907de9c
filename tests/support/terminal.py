"""A command in a terminal window of its own, which can be closed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import subprocess
import termios
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.support.patience import PATIENCE_S


class Terminal:
    """The window: what the command printed there, and the command's process, which leads the window's session."""

    def __init__(self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> None:
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=cwd,
            env={**env, "TERM": "xterm", "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(slave, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - one system call
        )
        os.close(slave)
        self._said = b""
        self._is_closed = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def text(self) -> str:
        """Return what was printed so far."""
        return self._said.decode(errors="replace")

    def wait_for(self, words: str) -> str:
        """Wait until `words` are printed; return all that was printed."""
        deadline_s = time.monotonic() + PATIENCE_S
        while words not in self.text:
            assert self.process.poll() is None, self.text
            assert time.monotonic() < deadline_s, self.text
            time.sleep(0.02)
        return self.text

    def close(self) -> None:
        """Close the window: the kernel hangs the session up, and what is written from now on fails."""
        self._is_closed.set()
        self._reader.join()
        with contextlib.suppress(OSError):
            os.close(self._master)

    def _read(self) -> None:
        while not self._is_closed.is_set():
            if select.select([self._master], [], [], 0.05)[0]:
                try:
                    self._said += os.read(self._master, 65_536)
                except OSError:  # The command has ended.
                    return


@contextlib.contextmanager
def in_terminal(command: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Iterator[Terminal]:
    """Run a command in a window for the block; kill what is left of its session's first group."""
    terminal = Terminal(command, cwd=cwd, env=env)
    try:
        yield terminal
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(terminal.process.pid, signal.SIGKILL)
        terminal.process.wait()
        if not terminal._is_closed.is_set():
            terminal.close()
