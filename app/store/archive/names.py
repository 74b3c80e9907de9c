"""Participants of a run: `participants.json`, the only file of a run that holds names.

Names are deleted after the retention period. The mapping of devices to pseudonyms stays. Without it a later request for
deletion (`forget.py`) could delete a device's posts, but not the records made from them under the pseudonym. It reveals
no more than the store, which has the device's posts next to those records.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.core.errors import StoreError, Unknown
from app.store.archive.folders import read_file, replace_file
from app.store.archive.trash import preserving_age

NAMES_FILE = "participants.json"

NAMES_BYTES_MAX = 1024 * 1024

KEPT = ("client", "device", "pseudonym")
"""Members of a participant that are kept when names are deleted."""


def participants(folder: Path) -> list[dict[str, Any]]:
    """Read the participants of an experiment; a live run has none. Raises `StoreError` for a damaged file."""
    try:
        return [each for each in _content(folder)["participants"] if each["device"]]
    except Unknown:
        return []


def write_participants(folder: Path, found: list[dict[str, Any]]) -> None:
    """Replace the participants in the file, and keep its other members. Raises `Unknown`, `StoreError` and `OSError`."""
    content = {**_content(folder), "participants": found}
    replace_file(folder / NAMES_FILE, json.dumps(content, indent=1) + "\n")


def drop_names(folder: Path) -> bool:
    """Delete the names of a run's participants; return True if there were any. Raises `OSError` and `StoreError`."""
    with locked(folder):
        try:
            found = _content(folder)["participants"]
        except Unknown:
            return False
        except StoreError as error:
            if isinstance(error.__cause__, OSError) and error.__cause__.errno != errno.ELOOP:
                raise  # The file was unreadable but may be intact; the next sweep tries again.
            # A damaged file may hold names, so it is deleted as a whole.
            (folder / NAMES_FILE).unlink()
            return True
        kept = [{name: each[name] for name in KEPT if name in each} for each in found]
        if kept == found:
            return False
        with preserving_age(folder):
            write_participants(folder, kept)
        return True


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock the folder against other threads and processes, because files are read, changed and replaced as a whole.

    It is a kernel lock (`flock`): Python's locks are green in some servers, but this code runs in real threads.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _content(folder: Path) -> dict[str, Any]:
    """Read the file, with participants as dictionaries. Raises `Unknown` without a file, `StoreError` for a damaged one."""
    text = read_file(folder / NAMES_FILE, bytes_max=NAMES_BYTES_MAX)
    try:
        content = json.loads(text)
        found = [{"device": each["device"], **each} for each in content["participants"]]
        return {**content, "participants": found}
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise StoreError(f"{NAMES_FILE} of run {folder.name} is damaged.") from error
