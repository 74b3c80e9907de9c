"""A thread that flushes the journal to the disk soon after a write."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from app.core.errors import NotKept
from app.server.wsgi.offload import blocking

FLUSH_AFTER_S = 1.0
"""Longest loss by a power cut. Notifications of one second share a flush, which is two writes to the disk."""

logger = logging.getLogger("siar.broker")


class JournalFlusher:
    """Calls `flush` within `FLUSH_AFTER_S` of a `wake`, in a real thread, since a disk may block for long."""

    def __init__(self, flush: Callable[[], None]) -> None:
        self._flush = flush
        self._wanted = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="siar-journal", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Request a flush: something was written."""
        if not self._wanted.is_set():
            self._wanted.set()

    def stop(self) -> None:
        """End the thread. No flush is in progress when this returns."""
        self._stopped.set()
        self._wanted.set()
        self._thread.join()

    def _run(self) -> None:
        # Checked here too: a `stop` between the wait and `clear` would otherwise be lost, and `join` never return.
        while not self._stopped.is_set():
            self._wanted.wait()
            if self._stopped.wait(FLUSH_AFTER_S):
                return
            self._wanted.clear()
            try:
                blocking(self._flush)
            except NotKept as error:
                logger.warning("%s What was published stays safe from all but a power cut.", error)
