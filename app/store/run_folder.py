"""Recognition of run folders that Siar made; only these are ever moved, swept or edited.

A run is recognised by its database, whose header contains our application id, or, before that exists, by a mark that
is written when the folder is made. A folder without either is foreign, whatever its name.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from app.store import schema
from app.store.store import FILE_NAME

MARK_FILE = ".siar-run"
MARK = b"A run of Siar; what phones posted comes first, and the database after it.\n"

_HEAD_BYTES = 4096
_WAL_FRAME_AT = 32
_FRAME_HEAD_BYTES = 24
_ID_AT = slice(68, 72)
"""Position of the application id in a database's first page."""
_ID = schema.APPLICATION_ID.to_bytes(4, "big")


def make_folder(folder: Path) -> None:
    """Make and mark the folder of a run; an existing folder is left unmarked. Raises `OSError`."""
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        return
    write_new(folder / MARK_FILE, MARK)


def write_new(path: Path, content: bytes) -> None:
    """Write a new file. Raises `OSError`, and `FileExistsError` if it exists."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)


def is_run(folder: Path) -> bool:
    """Return True if Siar made this folder. A link and an unreadable folder count as foreign."""
    if folder.is_symlink():
        return False
    database = _read_beginning(folder / FILE_NAME)
    if database.startswith(b"SQLite format 3\0") and database[_ID_AT] == _ID:
        return True
    if database and _first_page_in_log(folder / f"{FILE_NAME}-wal")[_ID_AT] == _ID:
        return True
    return has_content(folder / MARK_FILE, MARK)


def has_content(path: Path, content: bytes) -> bool:
    """Return True if the path is a regular file with exactly this content."""
    return _read_beginning(path) == content


def _first_page_in_log(path: Path) -> bytes:
    """Return the first page in a write-ahead log; a killed runner may have left its database only there."""
    log = _read_beginning(path)
    page = log[_WAL_FRAME_AT + _FRAME_HEAD_BYTES :]
    return page if log[_WAL_FRAME_AT : _WAL_FRAME_AT + 4] == (1).to_bytes(4, "big") else b""


def _read_beginning(path: Path) -> bytes:
    """Read the beginning of a regular file; empty for a link, a pipe or an unreadable file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(handle, _HEAD_BYTES) if stat.S_ISREG(os.fstat(handle).st_mode) else b""
    except OSError:
        return b""
    finally:
        os.close(handle)
