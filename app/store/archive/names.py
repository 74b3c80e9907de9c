"""Who a run's participants are: `participants.json`, the only file of a run that holds names.

Names go when their time is over. Which device had which pseudonym stays: without it somebody who asks later could not
have all of theirs deleted (`forget.py`), only what they posted, while what was made of it stayed under the pseudonym. It
tells nobody more than the store does, which keeps the device's own posts beside those rows.
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
from app.store.archive.trash import as_old_as_it_was

NAMES_FILE = "participants.json"

NAMES_BYTES_MAX = 1024 * 1024

KEPT = ("client", "device", "pseudonym")
"""Of a participant, when names are deleted."""


def participants(folder: Path) -> list[dict[str, Any]]:
    """The participants of an experiment; none in a live run. Raises `StoreError` for a damaged file."""
    try:
        return [each for each in _content(folder)["participants"] if each["device"]]
    except Unknown:
        return []


def write_participants(folder: Path, found: list[dict[str, Any]]) -> None:
    """The file with these in it; what else it says stays. Raises `Unknown`, `StoreError` and `OSError`."""
    content = {**_content(folder), "participants": found}
    replace_file(folder / NAMES_FILE, json.dumps(content, indent=1) + "\n")


def drop_names(folder: Path) -> bool:
    """Delete the names of a run's participants; whether there were any. Raises `OSError` and `StoreError`."""
    with alone_in(folder):
        try:
            found = _content(folder)["participants"]
        except Unknown:
            return False
        except StoreError as error:
            if isinstance(error.__cause__, OSError) and error.__cause__.errno != errno.ELOOP:
                raise  # It could not be read now, and may be whole: tomorrow is another day.
            # A damaged file may hold names: it goes as it is.
            (folder / NAMES_FILE).unlink()
            return True
        kept = [{name: each[name] for name in KEPT if name in each} for each in found]
        if kept == found:
            return False
        with as_old_as_it_was(folder):
            write_participants(folder, kept)
        return True


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """While other threads and processes wait: files are read, and replaced as a whole.

    The kernel's lock, since a lock of Python's is a green one in some servers, and this runs in real threads.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _content(folder: Path) -> dict[str, Any]:
    """What the file says, its participants as tables. Raises `Unknown` where there is none, `StoreError` for a damaged one."""
    text = read_file(folder / NAMES_FILE, bytes_max=NAMES_BYTES_MAX)
    try:
        content = json.loads(text)
        found = [{"device": each["device"], **each} for each in content["participants"]]
        return {**content, "participants": found}
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise StoreError(f"{NAMES_FILE} of run {folder.name} is damaged.") from error
