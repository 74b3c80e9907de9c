"""A lock that admits one server per history. The kernel releases it when its holder ends, however that happens."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from pathlib import Path

from app.core.errors import Unfit

POLL_S = 0.05


class LockFile:
    """`<history>.lock`, held until `release` or the end of the process.

    It is a separate file because SQLite's own locks are on the history: closing another descriptor of that file would
    release them (POSIX locks belong to a process and a file, not to a descriptor). The file is never deleted:
    deleting it could remove one that another server has just locked.
    """

    def __init__(self, history: Path, *, wait_s: float) -> None:
        """Take the lock, waiting for a predecessor that is about to end. Raises `Unfit` with a message for people."""
        path = history.with_name(history.name + ".lock")
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise Unfit(f"The history {history} cannot be opened: {error.strerror}.") from error
        for _ in range(round(wait_s / POLL_S) + 1):
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(POLL_S)
                continue
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, str(os.getpid()).encode(), 0)
            return
        holder = os.pread(self._fd, 20, 0).decode("ascii", "replace")
        self.release()
        raise Unfit(
            f"The history {history} is in use by another server (process {holder}); "
            "end that one, or name another file with --broker."
        )

    def release(self) -> None:
        """Release the lock."""
        with contextlib.suppress(OSError):
            os.close(self._fd)
