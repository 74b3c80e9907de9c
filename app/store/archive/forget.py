"""Deletion of everything that was recorded about one device, in all runs of a folder and in the trash.

The report and its figures stay, since they are computed from all phones together; `removed.json` records that they can
no longer be computed again. Only the device's model and browser are removed from the report, because they may identify
its owner. The functions read and write the disk, so they must not be called on the event loop.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markupsafe import escape

from app import clock
from app.core.errors import SiarError, StoreError, Unknown
from app.store import run_folder
from app.store.archive import self_tests
from app.store.archive.folders import read_file, replace_file, replacing, run_names
from app.store.archive.names import locked, participants, write_participants
from app.store.archive.summary import DATABASE, RESULT, RESULT_BYTES_MAX
from app.store.archive.trash import TRASH, preserving_age
from app.store.database import NOT_AS_WRITTEN
from app.store.device_rows import DeletedRows, delete_device_rows, spool_position_bytes, strip_participant

SPOOL = "spool.jsonl"
RESULTS = "results"
CLIENT_TABLES = ("deliveries.csv", "clients.csv")
"""CSV files with rows per client."""

REPORT = "report.html"
REPORT_BYTES_MAX = 64 * 1024 * 1024

REMOVED_FILE = "removed.json"
"""File with the number of participants whose data was deleted."""

PHONE_RESULT_BYTES_MAX = 256 * 1024
"""Size limit of a phone's own result."""

IMPORT_LIMIT_S = 5.0
"""Time to wait for the recorder, which reads the spool once a second."""

POLL_S = 0.1


@dataclass(slots=True)
class Removal:
    """Summary of what was deleted."""

    runs: list[str] = field(default_factory=list)
    """Runs that held data of the device."""
    rows: DeletedRows = field(default_factory=DeletedRows)
    spooled: int = 0
    """Number of batches in spools; most of them were also rows."""
    results: int = 0
    """Number of the phone's own result pages."""
    self_tests: int = 0
    """Number of records of `/selftest`."""
    failed: list[str] = field(default_factory=list)
    """Runs that could not be read or written; the operator has to look at them."""


def forget_device(runs_dir: Path, device: str, *, live: str | None = None) -> Removal:
    """Delete everything that was recorded about `device`; a recorder may be writing the run `live` meanwhile."""
    removal = Removal()
    for folder in _folders(runs_dir):
        if not run_folder.is_run(folder):
            if os.path.isfile(folder / DATABASE):  # Does not raise for an unreadable folder.
                # Foreign, or damaged beyond recognition: the operator has to look at it.
                removal.failed.append(folder.name)
            continue
        try:
            is_live = folder.name == live
            # The live run has no names and its age changes anyway. Deletion there waits for the recorder, and a lock
            # would make other requests wait for it too.
            with contextlib.nullcontext() if is_live else _locked_preserving_age(folder):
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
def _locked_preserving_age(folder: Path) -> Iterator[None]:
    """Serialise deletions when a whole class leaves, and keep the run's age, so that retention is not prolonged."""
    with locked(folder), preserving_age(folder):
        yield


def _forget_in(folder: Path, device: str, removal: Removal, *, is_live: bool) -> bool:
    """Delete the device's data in one run, add it to `removal`, and return True if there was any."""
    everyone = participants(folder)
    own_entries = [each for each in everyone if each["device"] == device]
    client = own_entries[0].get("client") if own_entries else None
    # The spool is first: batches that are imported meanwhile are deleted from the store afterwards.
    spooled = _blank_lines(folder / SPOOL, device)
    rows = _forget_rows(
        folder, device, client, spool_bytes=_size(folder / SPOOL) if spooled and is_live else 0
    )
    results = 0
    if isinstance(client, int):
        results = _delete_results(folder / RESULTS, seat=client + 1)
        for name in CLIENT_TABLES:
            _delete_csv_rows(folder / name, client)
        _delete_device_facts(folder, client)
    if own_entries:  # The entry is last: after a failure before it, a retry still finds the rest by it.
        write_participants(folder, [each for each in everyone if each["device"] != device])
        _note_removed(folder)
    removal.spooled += spooled
    removal.rows += rows
    removal.results += results
    return bool(spooled or own_entries or rows != DeletedRows() or results)


def _forget_rows(folder: Path, device: str, client: int | None, *, spool_bytes: int) -> DeletedRows:
    path = folder / DATABASE
    if not path.is_file() or path.is_symlink():
        return DeletedRows()
    rows = delete_device_rows(path, device, client)
    until_us = clock.monotonic_us() + round(IMPORT_LIMIT_S * 1e6)
    while spool_position_bytes(path) < spool_bytes and clock.monotonic_us() < until_us:
        time.sleep(POLL_S)  # The recorder may have read the lines just before they were blanked.
    return rows + delete_device_rows(path, device, client) if spool_bytes else rows


def _blank_lines(path: Path, device: str) -> int:
    """Overwrite the device's batches with spaces, because the recorder's position in the spool must stay valid."""
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
            if json.loads(read_file(path, bytes_max=PHONE_RESULT_BYTES_MAX)).get("seat") == seat:
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


def _delete_device_facts(folder: Path, client: int) -> None:
    """Remove a phone's model and browser from `result.json` and `report.html`, but keep the row of its pseudonym.

    Raises `StoreError`, `OSError`.
    """
    try:
        result = json.loads(read_file(folder / RESULT, bytes_max=RESULT_BYTES_MAX))
        conditions = result["conditions"]
    except Unknown:
        return  # The run has no result yet.
    except (ValueError, TypeError, KeyError) as error:
        raise StoreError(f"{RESULT} of run {folder.name} is damaged.") from error
    if "participants" not in conditions:
        return
    for each in conditions["participants"]:
        if each.get("client") == client:
            _delete_from_report(folder / REPORT, each)
    # The result is last, because the report's row is found by it.
    stripped = {**result, "conditions": strip_participant(conditions, client)}
    replace_file(folder / RESULT, json.dumps(stripped, indent=1) + "\n")


def _delete_from_report(path: Path, participant: Mapping[str, Any]) -> None:
    try:
        page = read_file(path, bytes_max=REPORT_BYTES_MAX).decode()
    except Unknown:
        return
    name = participant.get("pseudonym")
    old = _report_row(name, participant.get("model"), participant.get("browser"))
    new = _report_row(name, None, None)
    if old != new and old in page:
        replace_file(path, page.replace(old, new))


def _report_row(*cells: object) -> str:
    """Return the beginning of a participant's row as the report's template writes it."""
    texts = ("-" if cell is None else str(cell) for cell in cells)
    return "".join(f'<td class="words">{escape(text)}</td>' for text in texts)


def _note_removed(folder: Path) -> None:
    path = folder / REMOVED_FILE
    replace_file(path, json.dumps({"participants_count": removed_count(folder) + 1}) + "\n")


def removed_count(folder: Path) -> int:
    """Return the number of participants of a run whose data was deleted."""
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
