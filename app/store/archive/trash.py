"""Trash for runs: a deleted run is moved to `.trash`, where it can be restored for a week before it is purged."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from app import clock
from app.core.errors import Conflict, StoreError, Unknown
from app.i18n import refusal
from app.store import database, run_folder
from app.store.archive.folders import folder_of, own_runs
from app.store.archive.summary import DATABASE

TRASH = ".trash"

TRASH_MARK_FILE = ".siar-thrown"
TRASH_MARK = b"Siar put this run into the trash; it is deleted for good after a week.\n"
"""Content of the mark in a trashed run. Only folders with this mark are purged; foreign folders in the trash stay."""

KEPT_DAYS = 7

WRITTEN_LATELY_S = 30
"""An unfinished run that was written within this time counts as being written."""

DAY_S = 24 * 3600


class Trash:
    """Trash of `runs_dir`. It reads and writes the disk, so it must not be called on the event loop."""

    def __init__(self, runs_dir: Path) -> None:
        # The user's folder of runs may be a link; the trash in it may not.
        self._runs_dir = runs_dir.resolve()
        self._folder = self._runs_dir / TRASH

    def add(self, run: str) -> None:
        """Move a run to the trash. Raises `Unknown`, and `Conflict` if it is foreign, being written, or already there."""
        folder = folder_of(self._runs_dir, run)
        if not run_folder.is_run(folder):
            raise Conflict(refusal("run_not_ours", run=run))
        if is_being_written(folder):
            raise Conflict(refusal("run_being_written"))
        target = self._folder / run
        if target.exists() or target.is_symlink():
            raise Conflict(refusal("run_in_trash_already"))
        with _reporting_errors("deleted"):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            with _opened(self._runs_dir) as runs, _opened(self._folder) as here:
                os.rename(run, run, src_dir_fd=runs, dst_dir_fd=here)
            # The mark is written after the move, so that a run that cannot be moved stays unchanged.
            run_folder.write_new(target / TRASH_MARK_FILE, TRASH_MARK)
            os.utime(target)  # The time in the trash counts from now on.

    def restore(self, run: str) -> None:
        """Move a run back from the trash. Raises `Unknown`, and `Conflict` if another run has its id."""
        if run not in self._runs():
            raise Unknown(refusal("run_not_in_trash", run=run[:64], days=KEPT_DAYS))
        target = self._runs_dir / run
        if target.exists() or target.is_symlink():
            raise Conflict(refusal("run_id_taken"))
        with _reporting_errors("brought back"):
            (self._folder / run / TRASH_MARK_FILE).unlink(missing_ok=True)
            with _opened(self._folder) as here, _opened(self._runs_dir) as runs:
                os.rename(run, run, src_dir_fd=here, dst_dir_fd=runs)

    def purge(self, *, days: float = KEPT_DAYS) -> list[str]:
        """Delete runs for good that were trashed more than `days` ago; return their ids. Foreign folders stay."""
        purged = []
        for run in self._runs():
            folder = self._folder / run
            with contextlib.suppress(OSError):  # The next purge tries again.
                is_due = clock.now_us() / 1e6 - folder.lstat().st_mtime > days * DAY_S
                if is_due and run_folder.has_content(folder / TRASH_MARK_FILE, TRASH_MARK):
                    with _opened(self._folder) as here:
                        shutil.rmtree(run, dir_fd=here)
                    purged.append(run)
        return purged

    def _runs(self) -> list[str]:
        """List the ids of the runs in the trash; none if the trash is a link."""
        if self._folder.is_symlink() or not self._folder.is_dir():
            return []
        return sorted(own_runs(self._folder))


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[int]:
    """Open the folder, so that replacing its name has no effect on later calls. Raises `OSError`, also for a link."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


def is_being_written(folder: Path) -> bool:
    """Return True if the run has no result and was written recently, or is held open by its runner."""
    if (folder / "result.json").exists():
        return False
    return age_s(folder) < WRITTEN_LATELY_S or database.has_writer(folder / DATABASE)


def age_s(folder: Path) -> float:
    """Return the time since the last write to any file of the folder. Raises `OSError`."""
    return clock.now_us() / 1e6 - _modified_ns(folder) / 1e9


@contextlib.contextmanager
def preserving_age(folder: Path) -> Iterator[None]:
    """Reset modification times after the block, so that its writes do not change the run's age. Raises `OSError`."""
    before_ns = _modified_ns(folder)
    try:
        yield
    finally:
        for path, found in [*_entries(folder), (folder, folder.stat())]:
            if found.st_mtime_ns > before_ns:
                with contextlib.suppress(FileNotFoundError):
                    os.utime(path, ns=(found.st_atime_ns, before_ns), follow_symlinks=False)


def _modified_ns(folder: Path) -> int:
    """Return the time of the last write to any file of the folder, wall clock."""
    return max([folder.stat().st_mtime_ns, *(found.st_mtime_ns for _, found in _entries(folder))])


def _entries(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield the entries of the folder, without those that disappear meanwhile, such as another thread's draft."""
    for path in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):
            yield path, path.lstat()


@contextlib.contextmanager
def _reporting_errors(verb: str) -> Iterator[None]:
    """Convert `OSError` to a `StoreError` with a readable sentence."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"The run cannot be {verb}: {error.strerror}.") from error
