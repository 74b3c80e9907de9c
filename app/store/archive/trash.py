"""Deleting a run with undo: it is moved into `.trash`, stays there for a week, and can be brought back until then."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from app import clock
from app.core.errors import Conflict, StoreError, Unknown
from app.i18n import refusal
from app.store import database, own
from app.store.archive.folders import folder_of, own_runs
from app.store.archive.summary import DATABASE

TRASH = ".trash"

THROWN_FILE = ".siar-thrown"
THROWN = b"Siar put this run into the trash; it is deleted for good after a week.\n"
"""Only what has this in it is ever deleted for good: a folder that somebody else put here stays."""

KEPT_DAYS = 7

WRITTEN_LATELY_S = 30
"""A run whose database changed that recently, and that has not ended, is being written by somebody."""

DAY_S = 24 * 3600


class Trash:
    """The deleted runs of `runs_dir`. Reads and writes the disk: to be called off the event loop."""

    def __init__(self, runs_dir: Path) -> None:
        self._runs_dir = (
            runs_dir.resolve()
        )  # The user's own folder of runs may be a link; the trash in it may not.
        self._folder = self._runs_dir / TRASH

    def throw(self, run: str) -> None:
        """Move a run here. Raises `Unknown`, and `Conflict` while it is written or when its id is here already."""
        folder = folder_of(self._runs_dir, run)
        if not own.is_run(folder):
            raise Conflict(refusal("run_not_ours", run=run))
        if is_being_written(folder):
            raise Conflict(refusal("run_being_written"))
        target = self._folder / run
        if target.exists() or target.is_symlink():
            raise Conflict(refusal("run_in_trash_already"))
        with _in_words("deleted"):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            with _opened(self._runs_dir) as runs, _opened(self._folder) as here:
                os.rename(run, run, src_dir_fd=runs, dst_dir_fd=here)
            # After the move: a run that cannot be moved stays as it was.
            own.write_new(target / THROWN_FILE, THROWN)
            os.utime(target)  # From now on its days are counted.

    def restore(self, run: str) -> None:
        """Bring a run back. Raises `Unknown`, and `Conflict` when another one has taken its id."""
        if run not in self._runs():
            raise Unknown(refusal("run_not_in_trash", run=run[:64], days=KEPT_DAYS))
        target = self._runs_dir / run
        if target.exists() or target.is_symlink():
            raise Conflict(refusal("run_id_taken"))
        with _in_words("brought back"):
            (self._folder / run / THROWN_FILE).unlink(missing_ok=True)
            with _opened(self._folder) as here, _opened(self._runs_dir) as runs:
                os.rename(run, run, src_dir_fd=here, dst_dir_fd=runs)

    def purge(self, *, days: float = KEPT_DAYS) -> list[str]:
        """Delete for good what was thrown here longer ago than that; the ids. What somebody else put here stays."""
        gone = []
        for run in self._runs():
            folder = self._folder / run
            with contextlib.suppress(OSError):  # Another time.
                is_due = clock.now_us() / 1e6 - folder.lstat().st_mtime > days * DAY_S
                if is_due and own.holds(folder / THROWN_FILE, THROWN):
                    with _opened(self._folder) as here:
                        shutil.rmtree(run, dir_fd=here)
                    gone.append(run)
        return gone

    def _runs(self) -> list[str]:
        """Ids of the runs here; none where the trash is a link, which leads elsewhere."""
        if self._folder.is_symlink() or not self._folder.is_dir():
            return []
        return sorted(own_runs(self._folder))


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[int]:
    """The folder itself, whatever takes its name meanwhile. Raises `OSError`, for a link as well."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


def is_being_written(folder: Path) -> bool:
    """Whether it has not ended, and was written lately or is held open by its runner, however long a trial may take."""
    if (folder / "result.json").exists():
        return False
    return age_s(folder) < WRITTEN_LATELY_S or database.has_writer(folder / DATABASE)


def age_s(folder: Path) -> float:
    """Since something in it was written last. Raises `OSError`."""
    return clock.now_us() / 1e6 - _written_ns(folder) / 1e9


@contextlib.contextmanager
def as_old_as_it_was(folder: Path) -> Iterator[None]:
    """What the block writes makes the run no younger, since nothing was measured. Raises `OSError`."""
    before_ns = _written_ns(folder)
    try:
        yield
    finally:
        for path, found in [*_inside(folder), (folder, folder.stat())]:
            if found.st_mtime_ns > before_ns:
                with contextlib.suppress(FileNotFoundError):
                    os.utime(path, ns=(found.st_atime_ns, before_ns), follow_symlinks=False)


def _written_ns(folder: Path) -> int:
    """When something in it was written last, by the wall clock."""
    return max([folder.stat().st_mtime_ns, *(found.st_mtime_ns for _, found in _inside(folder))])


def _inside(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """What lies in it, but for what goes away meanwhile: another thread's draft."""
    for path in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):
            yield path, path.lstat()


@contextlib.contextmanager
def _in_words(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"The run cannot be {what}: {error.strerror}.") from error
