"""What runs take on the disk, and which of them have to go when all together may take only so much."""

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
"""By what stands before the `B`: powers of 1000 as disks are sold, and of 1024 where an `i` says so."""

_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?) ?([kmgt]i?)?b?", re.IGNORECASE)

_SHOWN = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run as the disk sees it."""

    id: str
    age_s: float
    """Since something in it was written last."""
    size_bytes: int
    """Of all its files."""


def stored_runs(runs_dir: Path) -> list[StoredRun]:
    """Every run of ours in the folder, the one that was written to longest ago first. Raises `StoreError`."""
    try:
        names = own_runs(runs_dir)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(f"The runs cannot be listed: {error.strerror}.") from error
    found = [run for name in names if (run := _stored(runs_dir / name)) is not None]
    return sorted(found, key=lambda run: (-run.age_s, run.id))


def in_the_way(runs: Sequence[StoredRun], *, bytes_max: int, keep: str | None = None) -> list[StoredRun]:
    """The fewest of the oldest runs without which the others take at most `bytes_max`.

    `runs` come oldest first. The run `keep` stays, and counts.
    """
    left_bytes = sum(run.size_bytes for run in runs)
    going = []
    for run in runs:
        if left_bytes <= bytes_max:
            break
        if run.id != keep:
            going.append(run)
            left_bytes -= run.size_bytes
    return going


def folder_bytes(folder: Path) -> int:
    """Size of all files below a folder; a link counts as nothing, wherever it leads. Raises `OSError`."""
    total = 0
    with os.scandir(folder) as entries:
        for each in entries:
            if each.is_dir(follow_symlinks=False):
                total += folder_bytes(Path(each.path))
            elif each.is_file(follow_symlinks=False):
                total += each.stat(follow_symlinks=False).st_size
    return total


def bytes_from_text(text: str) -> int:
    """The bytes that `500MB`, `2GB`, `1.5 GiB` or a bare number stand for. Raises `Malformed`."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise Malformed(f"{text[:40]!r} is no size; write it as 500MB, 2GB or 1.5GiB.")
    return round(float(found[1]) * _UNITS[(found[2] or "").lower()])


def size_text(size_bytes: int) -> str:
    """A size for people: three digits at most before the unit."""
    for unit_bytes, unit in _SHOWN:
        if size_bytes >= unit_bytes:
            return f"{size_bytes / unit_bytes:.1f} {unit}"
    return f"{size_bytes} B"


def _stored(folder: Path) -> StoredRun | None:
    """`None` for a run that went away meanwhile, or that cannot be read."""
    try:
        return StoredRun(folder.name, age_s(folder), folder_bytes(folder))
    except OSError:
        return None
