"""Where runs are: a folder each, under ids that cannot lead anywhere else."""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path

from app.catalogues import refusal
from app.core.errors import Malformed, StoreError, Unknown

RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""No separator, and no dot or dash in front: neither a path, nor a hidden folder, nor a flag."""

LIVE_PREFIX = "live-"
"""Ids of what phones posted outside of experiments."""


def check_id(run: str) -> str:
    """The id, if it has the form of one. Raises `Malformed`."""
    if not RUN_ID.fullmatch(run):
        raise Malformed(
            "A run's id has 1 to 64 letters, digits, dots, dashes and underscores, and begins with a letter or digit."
        )
    return run


def folder_of(runs_dir: Path, run: str) -> Path:
    """The folder of a run that is there. Raises `Unknown`; a link is no folder, since it leads elsewhere."""
    folder = runs_dir / run
    if not RUN_ID.fullmatch(run) or folder.is_symlink() or not folder.is_dir():
        raise Unknown(refusal("run_unknown", run=run[:64]))
    return folder


def read_file(path: Path, *, bytes_max: int) -> bytes:
    """A regular file's content; a link is not followed. Raises `Unknown` and `StoreError`."""
    try:
        # Without O_NONBLOCK a pipe that somebody put there would be waited for.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise Unknown(refusal("run_without_file", file=path.name)) from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise StoreError(refusal("run_file_a_link", file=path.name)) from error
        raise StoreError(refusal("run_file_unreadable", file=path.name, reason=error.strerror)) from error
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_size > bytes_max:
            raise StoreError(refusal("run_file_strange", file=path.name, count=bytes_max))
        return file.read(bytes_max)


def replace_file(path: Path, text: str) -> None:
    """Write a file whole or not at all; an older one gives its mode, a new one is for this user only.

    Raises `OSError`.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o600
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            os.fchmod(handle, mode)
            file.write(text)
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
