"""Export of a run as one file for publication: figures and raw stamps, without names, device ids, addresses or tokens.

Only files that are known to hold measurements are packed; other files of the folder (`participants.json`, the phones'
own results, the spool) are left out. Device ids in the packed files are replaced by pseudonyms. For that the store is
copied, rewritten and vacuumed, so that no old text remains in its free pages.
"""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
import tempfile
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO

from app.core.errors import StoreError, Unknown
from app.i18n import refusal
from app.store import database
from app.store.archive.folders import open_file, read_file
from app.store.archive.names import NAMES_BYTES_MAX, NAMES_FILE
from app.store.archive.summary import DATABASE, RESULT

LOAD_FILES = ("load.html", "load.jsonl")
"""Files of a load test: the record of its generator, and the page that shows it."""

TEXT_FILES = (
    RESULT,
    "report.html",
    "deliveries.csv",
    "trials.csv",
    "clients.csv",
    "removed.json",
    *LOAD_FILES,
)
"""Text files that are exported; `removed.json` has the number of participants whose data was deleted."""

TEXT_BYTES_MAX = 4 * 1024**3
"""Size limit of a text file, the same as of an import (`lab/report/exchange/importer.py`): 1.8 million deliveries are 340 MB."""

LINES_BYTES = 1024 * 1024
"""Bytes of a text that are held in memory at once."""

DEVICE_ID = re.compile(r"(?<![0-9A-Za-z])d-[0-9a-f]{16}(?![0-9a-f])")

SPOOLED_BYTES_MAX = 4 * 1024 * 1024
"""Size up to which the zip file is kept in memory; a larger one is written to the disk."""

NOTE = """\
Run {run}, exported by Siar.

Participants stand under pseudonyms: names, device ids and addresses were left out or replaced.
run.sqlite holds the raw stamps; `./siar verify` with this folder unpacked computes every figure of result.json again.
"""


class Pseudonyms:
    """Mapping of device ids to pseudonyms: the run's own where one exists, else `device-1` and so on."""

    def __init__(self, known: dict[str, str]) -> None:
        self._known = dict(known)

    def apply(self, text: str) -> str:
        """Return the text with every device id replaced."""
        return DEVICE_ID.sub(lambda found: self._of(found[0]), text)

    def _of(self, device: str) -> str:
        return self._known.setdefault(device, f"device-{len(self._known) + 1}")


def export(folder: Path) -> IO[bytes]:
    """Pack the run in `folder` into a zip file, positioned at its beginning. Raises `Unknown` if there is nothing to pack."""
    pseudonyms = Pseudonyms(_known_pseudonyms(folder))
    target = tempfile.SpooledTemporaryFile(SPOOLED_BYTES_MAX)  # noqa: SIM115 - the caller closes it
    try:
        with (
            zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed,
            tempfile.TemporaryDirectory(prefix="siar-export-") as scratch,
        ):
            packed.writestr(f"{folder.name}/README.txt", NOTE.format(run=folder.name))
            count = 0
            for name in TEXT_FILES:
                with contextlib.suppress(Unknown):
                    _pack_text(folder / name, packed, pseudonyms)
                    count += 1
            if (folder / DATABASE).is_file() and not (folder / DATABASE).is_symlink():
                copy = Path(scratch) / DATABASE
                database.read_consistently(folder / DATABASE, partial(_copy_pages, folder / DATABASE, copy))
                with database.reporting_damage(folder / DATABASE):
                    _replace_devices(copy, pseudonyms)
                packed.write(copy, f"{folder.name}/{DATABASE}")
                count += 1
            if not count:
                raise Unknown(refusal("nothing_to_export"))
        target.seek(0)
    except BaseException:
        target.close()
        raise
    return target


def _pack_text(path: Path, packed: zipfile.ZipFile, pseudonyms: Pseudonyms) -> None:
    """Pack a text file by whole lines, since no device id spans two lines. Raises `Unknown` and `StoreError`."""
    with open_file(path, bytes_max=TEXT_BYTES_MAX) as source:
        entry = zipfile.ZipInfo.from_file(path, f"{path.parent.name}/{path.name}", strict_timestamps=False)
        entry.compress_type = zipfile.ZIP_DEFLATED
        with packed.open(entry, "w", force_zip64=True) as target:
            while lines := source.readlines(LINES_BYTES):
                target.write(pseudonyms.apply(b"".join(lines).decode(errors="replace")).encode())


def _known_pseudonyms(folder: Path) -> dict[str, str]:
    """Read the run's pseudonyms by device from the file of names; a missing or damaged file gives none."""
    try:
        found = json.loads(read_file(folder / NAMES_FILE, bytes_max=NAMES_BYTES_MAX))
        entries = found.get("participants", []) if isinstance(found, dict) else found
        return {str(each["device"]): str(each["pseudonym"]) for each in entries}
    except (Unknown, StoreError, ValueError, TypeError, KeyError, RecursionError):
        return {}


def _copy_pages(source: Path, target: Path) -> None:
    target.unlink(missing_ok=True)
    with (
        database.reporting_damage(source),
        contextlib.closing(database.connect(source, write=False)) as stored,
        contextlib.closing(sqlite3.connect(target, isolation_level=None)) as copy,
    ):
        stored.backup(copy)


def _replace_devices(path: Path, pseudonyms: Pseudonyms) -> None:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as copy:
        copy.execute("PRAGMA journal_mode = DELETE")  # A single file, without a WAL.
        copy.create_function("pseudonyms", 1, pseudonyms.apply, deterministic=True)
        with _without_triggers(copy):
            for table, column in _text_columns(copy):
                copy.execute(
                    f'UPDATE "{table}" SET "{column}" = pseudonyms("{column}") '
                    f"WHERE typeof(\"{column}\") = 'text' AND \"{column}\" LIKE '%d-%'"
                )
            if "connection" in _tables(copy):
                copy.execute(
                    "UPDATE connection SET address = '', port = 0 "
                    "WHERE address NOT LIKE '127.%' AND address <> '::1'"
                )
        copy.execute("VACUUM")


@contextlib.contextmanager
def _without_triggers(copy: sqlite3.Connection) -> Iterator[None]:
    """Remove the triggers that enforce append-only tables while the block runs."""
    triggers = copy.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        copy.execute(f'DROP TRIGGER "{name}"')
    yield
    for _, statement in triggers:
        copy.execute(statement)


def _tables(copy: sqlite3.Connection) -> list[str]:
    return [row[0] for row in copy.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]


def _text_columns(copy: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """Yield all tables and columns, because SQLite can store text in any column."""
    for table in _tables(copy):
        if not table.startswith("sqlite_"):
            for row in copy.execute(f'PRAGMA table_info("{table}")').fetchall():
                yield table, row[1]
