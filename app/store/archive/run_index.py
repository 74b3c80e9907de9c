"""Index of the runs in a folder, cached, and read from disk again only for runs that have changed."""

from __future__ import annotations

import heapq
import threading
from pathlib import Path

from app.core.errors import StoreError
from app.store.archive.folders import LIVE_PREFIX, folder_of, run_names
from app.store.archive.summary import DATABASE, RESULT, RunSummary, summarise

LISTED_MAX = 500
"""Number of runs in the list, the newest ones; older ones are only in the folder itself."""

Fingerprint = tuple[int, ...]


class RunIndex:
    """Index of the runs of `runs_dir`. It reads the disk, so it must not be called on the event loop."""

    def __init__(self, runs_dir: Path) -> None:
        self.runs_dir = runs_dir
        self._known: dict[str, tuple[Fingerprint, RunSummary]] = {}
        self._lock = threading.Lock()

    def newest(self, count_max: int = LISTED_MAX) -> list[RunSummary]:
        """Return the summaries of the newest runs, newest first."""
        names = heapq.nlargest(count_max, self._names(), key=_time_key)
        found = [self._summary(self.runs_dir / name) for name in names]
        with self._lock:
            for gone in self._known.keys() - set(names):
                del self._known[gone]
        return found

    def count(self) -> int:
        """Return the number of all runs, listed or not."""
        return len(self._names())

    def one(self, run: str) -> RunSummary:
        """Return the summary of one run. Raises `Unknown`."""
        return self._summary(folder_of(self.runs_dir, run))

    def _names(self) -> list[str]:
        try:
            return run_names(self.runs_dir)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreError(f"The runs cannot be listed: {error.strerror}.") from error

    def _summary(self, folder: Path) -> RunSummary:
        fingerprint = (*_fingerprint(folder / RESULT), *_fingerprint(folder / DATABASE))
        with self._lock:
            known = self._known.get(folder.name)
        if known is not None and known[0] == fingerprint:
            return known[1]
        summary = summarise(folder)
        with self._lock:
            if len(self._known) < 2 * LISTED_MAX:
                self._known[folder.name] = fingerprint, summary
        return summary


def _time_key(run: str) -> str:
    """Return a sort key for ids by time, the same for live runs."""
    return run.removeprefix(LIVE_PREFIX)


def _fingerprint(path: Path) -> Fingerprint:
    """Return a value that changes with the file; zeros if it does not exist."""
    try:
        found = path.lstat()
    except OSError:
        return (0, 0, 0)
    return (found.st_mtime_ns, found.st_size, found.st_ino)
