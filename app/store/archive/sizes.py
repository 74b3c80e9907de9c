"""Disk usage of runs, and the choice of runs to remove to stay within a limit."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import Malformed, StoreError
from app.store.archive.folders import own_runs
from app.store.archive.trash import age_s

_UNITS = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "ki": 2**10,
    "mi": 2**20,
    "gi": 2**30,
    "ti": 2**40,
}
"""Factor by the prefix of the `B`: powers of 1000, as on disks' labels, and of 1024 with an `i`."""

_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?) ?([kmgt]i?)?b?", re.IGNORECASE)

_SHOWN = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))


@dataclass(frozen=True, slots=True)
class StoredRun:
    """Age and size of a run on the disk."""

    id: str
    age_s: float
    """Time since the last write to any of its files."""
    size_bytes: int
    """Total size of its files."""


def stored_runs(runs_dir: Path) -> list[StoredRun]:
    """List the runs in the folder that Siar made, least recently written first. Raises `StoreError`."""
    try:
        names = own_runs(runs_dir)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(f"The runs cannot be listed: {error.strerror}.") from error
    found = [run for name in names if (run := _measured(runs_dir / name)) is not None]
    return sorted(found, key=lambda run: (-run.age_s, run.id))


def runs_to_remove(runs: Sequence[StoredRun], *, bytes_max: int, keep: str | None = None) -> list[StoredRun]:
    """Choose the fewest of the oldest runs whose removal leaves at most `bytes_max`.

    `runs` are in order, oldest first. The run `keep` is never chosen, but its size counts.
    """
    left_bytes = sum(run.size_bytes for run in runs)
    chosen = []
    for run in runs:
        if left_bytes <= bytes_max:
            break
        if run.id != keep:
            chosen.append(run)
            left_bytes -= run.size_bytes
    return chosen


def folder_bytes(folder: Path) -> int:
    """Return the total size of all files below a folder; links are not counted or followed. Raises `OSError`."""
    total = 0
    with os.scandir(folder) as entries:
        for each in entries:
            if each.is_dir(follow_symlinks=False):
                total += folder_bytes(Path(each.path))
            elif each.is_file(follow_symlinks=False):
                total += each.stat(follow_symlinks=False).st_size
    return total


def bytes_from_text(text: str) -> int:
    """Parse a size such as `500MB`, `2GB`, `1.5 GiB` or a plain number, in bytes. Raises `Malformed`."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise Malformed(f"{text[:40]!r} is no size; write it as 500MB, 2GB or 1.5GiB.")
    return round(float(found[1]) * _UNITS[(found[2] or "").lower()])


def size_text(size_bytes: int) -> str:
    """Format a size for people, with at most three digits before the decimal point."""
    for unit_bytes, unit in _SHOWN:
        if size_bytes >= unit_bytes:
            return f"{size_bytes / unit_bytes:.1f} {unit}"
    return f"{size_bytes} B"


def _measured(folder: Path) -> StoredRun | None:
    """Measure a run; `None` if it disappeared meanwhile or cannot be read."""
    try:
        return StoredRun(folder.name, age_s(folder), folder_bytes(folder))
    except OSError:
        return None
