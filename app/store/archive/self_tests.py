"""Records of the page `/selftest`: one file per device, readable by this user only, limited in number and age.

    <runs_dir>/.selftest/<device>.json

A repeated self-test replaces the device's earlier record. The functions read and write the disk, so they must not be
called on the event loop.
"""

from __future__ import annotations

import contextlib
import errno
import json
import re
from pathlib import Path
from typing import Any

from app import clock
from app.core.errors import SiarError
from app.i18n import refusal
from app.store.archive.folders import read_file, replace_file

FOLDER = ".selftest"
"""Folder of the records; it cannot be a run, since no run id begins with a dot."""

SCHEMA = 1

RECORDS_MAX = 200
"""Most records, enough for a school's phones. Beyond it new devices are refused, so that a stranger evicts no record."""

RECORD_BYTES_MAX = 64 * 1024
"""Size limit of a record; larger files are foreign, since a request's body is at most a quarter of it."""

DAY_S = 24 * 3600

_DEVICE = re.compile(r"d-[0-9a-f]{16}")


class SelfTestsFull(SiarError):
    """The limit of stored records is reached."""


def keep(runs_dir: Path, device: str, record: dict[str, Any], *, days: float) -> None:
    """Write a device's record, which replaces its earlier one. Raises `SelfTestsFull`, `OSError`.

    Records older than `days` are deleted first; 0 keeps all.
    """
    assert _DEVICE.fullmatch(device), "a device's id is checked where it comes in"
    folder = runs_dir / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.is_symlink():
        raise OSError(errno.ELOOP, f"{folder} is a link")
    _sweep(folder, days=days)
    path = folder / f"{device}.json"
    if not path.exists() and len(_paths(folder)) >= RECORDS_MAX:
        raise SelfTestsFull(refusal("self_tests_full", count=RECORDS_MAX))
    head = {"schema": SCHEMA, "device": device, "received_us": clock.now_us()}
    replace_file(path, json.dumps({**head, **record}, allow_nan=False, indent=1) + "\n")


def all_of(runs_dir: Path, *, days: float) -> list[dict[str, Any]]:
    """Return all readable records, newest first. Records older than `days` are deleted first; 0 keeps all."""
    folder = runs_dir / FOLDER
    _sweep(folder, days=days)
    found = []
    for path in _paths(folder):
        with contextlib.suppress(SiarError, OSError, ValueError, TypeError, KeyError):
            record = json.loads(read_file(path, bytes_max=RECORD_BYTES_MAX))
            found.append((int(record["received_us"]), record))
    return [record for _, record in sorted(found, key=lambda each: -each[0])]


def forget(runs_dir: Path, device: str) -> bool:
    """Delete a device's record; return True if there was one. Raises `OSError`."""
    if not _DEVICE.fullmatch(device):
        return False
    path = runs_dir / FOLDER / f"{device}.json"
    if path not in _paths(runs_dir / FOLDER) or not _is_record(path):
        return False
    path.unlink()
    return True


def _is_record(path: Path) -> bool:
    """Return True if the file's content is a record for the device in its name; otherwise the file is foreign."""
    try:
        found = json.loads(read_file(path, bytes_max=RECORD_BYTES_MAX))
        return bool(found["schema"] == SCHEMA and found["device"] == path.stem)
    except (SiarError, OSError, ValueError, TypeError, KeyError):
        return False


def _paths(folder: Path) -> list[Path]:
    if not folder.is_dir() or folder.is_symlink():
        return []
    return [path for path in sorted(folder.glob("d-*.json")) if _DEVICE.fullmatch(path.stem)]


def _sweep(folder: Path, *, days: float) -> None:
    oldest_s = clock.now_us() / 1_000_000 - days * DAY_S
    for path in _paths(folder) if days else ():
        with contextlib.suppress(OSError):
            if path.lstat().st_mtime < oldest_s and _is_record(path):
                path.unlink()
