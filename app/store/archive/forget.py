"""Delete what was recorded about one device, in every run that is kept here, the trash included.

What was computed from all phones together (the report, its figures) stays; `removed.json` says that it can no longer
be computed again. Reads and writes the disk: to be called off the event loop.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from app import clock
from app.core.errors import SiarError
from app.store import own
from app.store.archive import self_tests
from app.store.archive.device_facts import delete_facts
from app.store.archive.folders import read_file, replace_file, replacing, run_names
from app.store.archive.names import alone_in, participants, write_participants
from app.store.archive.summary import DATABASE
from app.store.archive.trash import TRASH, as_old_as_it_was
from app.store.database import NOT_AS_WRITTEN
from app.store.forget_device import Forgotten, forget, spool_position_bytes

SPOOL = "spool.jsonl"
RESULTS = "results"
OF_CLIENTS = ("deliveries.csv", "clients.csv")
"""Tables with rows of one client."""

REMOVED_FILE = "removed.json"
"""How many participants had what was recorded about them deleted."""

RESULT_BYTES_MAX = 256 * 1024

TAKEN_IN_LIMIT_S = 5.0
"""The recorder looks once a second."""

LOOK_S = 0.1


@dataclass(slots=True)
class Removal:
    """What was deleted."""

    runs: list[str] = field(default_factory=list)
    """Runs that held something."""
    rows: Forgotten = field(default_factory=Forgotten)
    spooled: int = 0
    """Batches in spools; most of them are rows as well."""
    results: int = 0
    """The phone's own result pages."""
    self_tests: int = 0
    """Records of `/selftest`."""
    failed: list[str] = field(default_factory=list)
    """Runs that could not be written; somebody has to look."""


def forget_device(runs_dir: Path, device: str, *, live: str | None = None) -> Removal:
    """Delete what was recorded about `device` wherever it is; a recorder may be writing the run `live`."""
    removal = Removal()
    for folder in _folders(runs_dir):
        if not own.is_run(folder):
            if os.path.isfile(folder / DATABASE):  # It does not raise for an unreadable folder.
                # Foreign, or damaged beyond recognition: somebody has to look.
                removal.failed.append(folder.name)
            continue
        try:
            is_live = folder.name == live
            # The live run is written anyway, has no names, and waits for its recorder: nobody shall wait for that.
            with contextlib.nullcontext() if is_live else _alone_and_unnoticed(folder):
                found = _forget_in(folder, device, removal, is_live=is_live)
        except (SiarError, OSError, csv.Error, *NOT_AS_WRITTEN):
            removal.failed.append(folder.name)
        else:
            if found:
                removal.runs.append(folder.name)
    try:
        removal.self_tests += self_tests.forget(runs_dir, device)
    except OSError:
        removal.failed.append(self_tests.FOLDER)
    return removal


@contextlib.contextmanager
def _alone_and_unnoticed(folder: Path) -> Iterator[None]:
    """When a class leaves, one after the other; and none has the others' names, or the trash, kept for longer."""
    with alone_in(folder), as_old_as_it_was(folder):
        yield


def _forget_in(folder: Path, device: str, removal: Removal, *, is_live: bool) -> bool:
    """Whether this run held anything."""
    everyone = participants(folder)
    mine = [each for each in everyone if each["device"] == device]
    client = mine[0].get("client") if mine else None
    # The spool first: what is taken from it into the store meanwhile is deleted there behind it.
    spooled = _blank_lines(folder / SPOOL, device)
    rows = _forget_rows(
        folder, device, client, spool_bytes=_size(folder / SPOOL) if spooled and is_live else 0
    )
    results = 0
    if isinstance(client, int):
        results = _delete_results(folder / RESULTS, seat=client + 1)
        for name in OF_CLIENTS:
            _delete_csv_rows(folder / name, client)
        delete_facts(folder, client)
    if mine:  # Last: by it the rest is found, if something fails before.
        write_participants(folder, [each for each in everyone if each["device"] != device])
        _note_removed(folder)
    removal.spooled += spooled
    removal.rows += rows
    removal.results += results
    return bool(spooled or mine or rows != Forgotten() or results)


def _forget_rows(folder: Path, device: str, client: int | None, *, spool_bytes: int) -> Forgotten:
    path = folder / DATABASE
    if not path.is_file() or path.is_symlink():
        return Forgotten()
    rows = forget(path, device, client)
    until_us = clock.monotonic_us() + round(TAKEN_IN_LIMIT_S * 1e6)
    while spool_position_bytes(path) < spool_bytes and clock.monotonic_us() < until_us:
        time.sleep(LOOK_S)  # The recorder may have read the lines just before they were blanked.
    return rows + forget(path, device, client) if spool_bytes else rows


def _blank_lines(path: Path, device: str) -> int:
    """Overwrite the device's batches with spaces: how far the spool was read is a place in the file."""
    mark = f'"device":"{device}"'.encode()
    count = 0
    try:
        handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return 0
    with os.fdopen(handle, "r+b") as spool:
        place = 0
        for line in iter(spool.readline, b""):
            if mark in line:
                os.pwrite(spool.fileno(), b" " * (len(line) - 1), place)
                count += 1
            place += len(line)
        if count:
            os.fsync(spool.fileno())
    return count


def _delete_results(folder: Path, *, seat: int) -> int:
    count = 0
    for path in sorted(folder.glob("*.json")) if folder.is_dir() and not folder.is_symlink() else ():
        with contextlib.suppress(ValueError, AttributeError):
            if json.loads(read_file(path, bytes_max=RESULT_BYTES_MAX)).get("seat") == seat:
                path.unlink()
                count += 1
    return count


def _delete_csv_rows(path: Path, client: int) -> None:
    if not path.is_file() or path.is_symlink():
        return
    with path.open(encoding="utf-8", newline="") as source, replacing(path) as kept:
        rows = csv.reader(source)
        header = next(rows, [])
        place = header.index("client") if "client" in header else None
        writer = csv.writer(kept)
        writer.writerow(header)
        writer.writerows(row for row in rows if place is None or row[place : place + 1] != [str(client)])


def _note_removed(folder: Path) -> None:
    path = folder / REMOVED_FILE
    replace_file(path, json.dumps({"participants_count": removed_count(folder) + 1}) + "\n")


def removed_count(folder: Path) -> int:
    """How many participants of a run had what was recorded about them deleted."""
    try:
        return int(json.loads(read_file(folder / REMOVED_FILE, bytes_max=1024))["participants_count"])
    except (SiarError, ValueError, TypeError, KeyError):
        return 0


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _folders(runs_dir: Path) -> Iterator[Path]:
    for parent in (runs_dir, runs_dir / TRASH):
        if not parent.is_dir() or parent.is_symlink():
            continue
        yield from (parent / name for name in sorted(run_names(parent)))
