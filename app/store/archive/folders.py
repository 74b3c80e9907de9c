"""Run folders and safe access to their files: ids that cannot escape the folder of runs, and no links followed."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from app.core.errors import Malformed, StoreError, Unknown
from app.i18n import refusal
from app.store import run_folder

RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""Form of a run id: without separators, and without a leading dot or dash, so that it is no path, hidden folder or flag."""

LIVE_PREFIX = "live-"
"""Prefix of the ids of live runs, which hold what phones posted outside of experiments."""


def check_id(run: str) -> str:
    """Return the id if it is well-formed. Raises `Malformed`."""
    if not RUN_ID.fullmatch(run):
        raise Malformed(
            "A run's id has 1 to 64 letters, digits, dots, dashes and underscores, and begins with a letter or digit."
        )
    return run


def folder_of(runs_dir: Path, run: str) -> Path:
    """Return the folder of an existing run. Raises `Unknown`, also for a symbolic link."""
    folder = runs_dir / run
    if not RUN_ID.fullmatch(run) or folder.is_symlink() or not folder.is_dir():
        raise Unknown(refusal("run_unknown", run=run[:64]))
    return folder


def run_names(parent: Path) -> list[str]:
    """List the run ids in a folder, unordered and without links. Raises `OSError`, `FileNotFoundError` without a folder."""
    with os.scandir(parent) as entries:
        return [
            each.name
            for each in entries
            if RUN_ID.fullmatch(each.name) and each.is_dir(follow_symlinks=False)
        ]


def own_runs(parent: Path) -> list[str]:
    """List the runs that Siar made, which may be moved, swept or edited. Raises the same errors as `run_names`."""
    return [name for name in run_names(parent) if run_folder.is_run(parent / name)]


def read_file(path: Path, *, bytes_max: int) -> bytes:
    """Read a regular file without following links. Raises `Unknown`, and `StoreError` for one longer than `bytes_max`."""
    with open_file(path, bytes_max=bytes_max) as file:
        return file.read(bytes_max)


def open_file(path: Path, *, bytes_max: int) -> IO[bytes]:
    """Open a regular file without following links. Raises `Unknown`, and `StoreError` for one longer than `bytes_max`."""
    try:
        # Without O_NONBLOCK opening a named pipe would block.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise Unknown(refusal("run_without_file", file=path.name)) from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise StoreError(refusal("run_file_a_link", file=path.name)) from error
        raise StoreError(refusal("run_file_unreadable", file=path.name, reason=error.strerror)) from error
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode) or found.st_size > bytes_max:
        os.close(handle)
        raise StoreError(refusal("run_file_strange", file=path.name, count=bytes_max))
    return os.fdopen(handle, "rb")


def replace_file(path: Path, text: str) -> None:
    """Write a file atomically, as `replacing` does. Raises `OSError`."""
    with replacing(path) as file:
        file.write(text)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[str]]:
    """Open a draft that replaces the file atomically if the block succeeds; otherwise the file stays unchanged.

    The mode of an existing file is kept; a new one is readable by this user only. Raises `OSError`.
    """
    # The draft's name is unique, since another thread of this process may be replacing the same file.
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.draft")
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o600
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            os.fchmod(handle, mode)
            yield file
        draft.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise
