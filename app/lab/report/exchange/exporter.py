"""Export of a run without names, tokens, hosts and addresses, with a manifest that describes its files.

    <run>/manifest.json     schema, version, run, seed, hashes, columns with units
    <run>/run.sqlite        raw rows
    <run>/result.json, report.html, deliveries.csv, trials.csv, clients.csv, README.txt
    <run>/load.jsonl, load.html         of a run under load

`app/store/archive/export.py` leaves out whatever names people. This module replaces secrets and machines in the database.
Where that changed anything, the other files are written again from it, so that `./siar verify` still confirms every figure.
The same run gives the same bytes: members carry no time of packing.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import socket
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from app.core.errors import Conflict, StoreError
from app.core.plan.scenario import LIVE_PROFILE, plan_sha256
from app.core.version import VERSION
from app.lab.analysis.analyse import analyse
from app.lab.report.data.csv_files import DICTIONARIES
from app.lab.report.exchange.redaction import Redactor
from app.lab.report.files import write_all
from app.store import schema
from app.store.archive.export import LOAD_FILES, export
from app.store.database import NOT_AS_WRITTEN
from app.store.store import FILE_NAME, Store

SCHEMA = 1

MANIFEST = "manifest.json"
RESULT = "result.json"
LOAD_PAGE, LOAD_LINES = LOAD_FILES

UNITS = {
    "us": "microseconds",
    "ms": "milliseconds",
    "s": "seconds",
    "bytes": "bytes",
    "percent": "percent",
    "points": "percentage points",
    "share": "share of 1",
}
"""Units by the word of a column's name that states them. A column without such a word is a count, a number or a word."""

CHUNK_BYTES = 1024 * 1024


def export_folder(run: Path, target: Path) -> Path:
    """Write the run into a new folder. Raises `Conflict` when it exists, `StoreError` when it cannot be written."""
    with _packed(run) as folder, _errors_of(target):
        target.mkdir(parents=True)
        with _removing_on_failure(lambda: shutil.rmtree(target)):
            for path in sorted(folder.iterdir()):
                shutil.copyfile(path, target / path.name)
    return target


def export_zip(run: Path, target: Path) -> Path:
    """Write the run into a new zip file. Raises `Conflict` when it exists, `StoreError` when it cannot be written."""
    with (
        _packed(run) as folder,
        _errors_of(target),
        target.open("xb") as file,
        _removing_on_failure(target.unlink),
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed,
    ):
        for path in sorted(folder.iterdir()):
            # A member created by name has the date 1980 and no owner: the same bytes every time.
            entry = zipfile.ZipInfo(f"{folder.name}/{path.name}")
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            entry.file_size = path.stat().st_size
            with path.open("rb") as source, packed.open(entry, "w") as member:
                shutil.copyfileobj(source, member, CHUNK_BYTES)
    return target


@contextmanager
def _errors_of(target: Path) -> Iterator[None]:
    """Turn system errors on writing the target into `Conflict` or `StoreError`."""
    try:
        yield
    except FileExistsError:
        raise Conflict(f"{target} exists already.") from None
    except OSError as error:
        raise StoreError(f"{target} cannot be written: {error.strerror}.") from error


@contextmanager
def _removing_on_failure(remove: Callable[[], object]) -> Iterator[None]:
    """Remove the target when the block fails: half an export would block the next one and could be taken for a whole one."""
    try:
        yield
    except BaseException:
        with suppress(OSError):
            remove()
        raise


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's content as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def columns(dictionary: Mapping[str, str]) -> list[dict[str, str | None]]:
    """Return a table's columns with unit and meaning."""
    return [{"name": name, "unit": unit_of(name), "meaning": meaning} for name, meaning in dictionary.items()]


def unit_of(name: str) -> str | None:
    """Return the unit that a column's name states last; `None` for counts, numbers and words."""
    return next((UNITS[word] for word in reversed(name.split("_")) if word in UNITS), None)


@contextmanager
def _packed(run: Path) -> Iterator[Path]:
    """Provide a temporary folder with the redacted files of the run. Raises `StoreError` for a damaged run."""
    with tempfile.TemporaryDirectory(prefix="siar-export-") as scratch:
        with export(run) as stream, zipfile.ZipFile(stream) as exported:
            folder = Path(scratch) / exported.namelist()[0].partition("/")[0]
            exported.extractall(scratch)  # safe: `export` has just written it
        redactor = Redactor(_own_names())
        try:
            _redact(folder, redactor)
            text = json.dumps(_manifest(folder, redactor), indent=1, allow_nan=False) + "\n"
        except NOT_AS_WRITTEN as error:
            raise StoreError(f"{run} is damaged, and nothing was exported: {error}.") from error
        (folder / MANIFEST).write_text(text, encoding="utf-8")
        yield folder


def _redact(folder: Path, redactor: Redactor) -> None:
    """Replace secrets and machines in every file; write reports again from the database where that changed anything."""
    result = folder / RESULT
    if (folder / FILE_NAME).is_file():
        _redact_database(folder / FILE_NAME, redactor)
    if result.is_file():
        found = json.loads(result.read_text(encoding="utf-8"))
        cleaned = redactor.value(found)
        if cleaned != found:
            result.write_text(json.dumps(cleaned, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    if (folder / LOAD_LINES).is_file():
        _redact_lines(folder / LOAD_LINES, redactor)
    if (folder / LOAD_PAGE).is_file():
        # Only `tools`, which is above this layer, could write this page again.
        page = (folder / LOAD_PAGE).read_text(encoding="utf-8")
        (folder / LOAD_PAGE).write_text(redactor.page(page), encoding="utf-8")
    if redactor.counts and result.is_file() and (folder / FILE_NAME).is_file():
        with Store.open(folder) as store:
            write_all(analyse(store.load()), folder)


def _redact_lines(path: Path, redactor: Redactor) -> None:
    """Redact JSON lines one at a time. Reasons of refused connections are system messages, which may name machines."""
    draft = path.with_name(f".{path.name}.draft")
    with path.open(encoding="utf-8") as lines, draft.open("w", encoding="utf-8") as file:
        for line in lines:
            file.write(_cleaned("", line.rstrip("\n"), redactor, separators=(",", ":")) + "\n")
    draft.replace(path)


def _redact_database(path: Path, redactor: Redactor) -> None:
    """Redact every text column. The triggers that forbid updates are dropped meanwhile and restored."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        guards = database.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in guards:
            database.execute(f'DROP TRIGGER "{name}"')
        for table in schema.TABLES:
            for row in database.execute(f'PRAGMA table_info("{table}")').fetchall():
                _redact_column(database, table, row[1], redactor)
        for _, statement in guards:
            database.execute(statement)
        database.execute("VACUUM")  # so that free pages do not keep the old text


def _redact_column(database: sqlite3.Connection, table: str, column: str, redactor: Redactor) -> None:
    found = database.execute(
        f'SELECT DISTINCT "{column}" FROM "{table}" WHERE typeof("{column}") = \'text\''
    ).fetchall()
    for (text,) in found:
        cleaned = _cleaned(column, text, redactor)
        if cleaned != text:
            database.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE "{column}" = ?', (cleaned, text))


def _cleaned(column: str, text: str, redactor: Redactor, *, separators: tuple[str, str] | None = None) -> str:
    """Return the text redacted: JSON value by value, because its keys tell which values are secrets; other text as a whole."""
    if text[:1] not in "{[":
        return str(redactor.value(text, name=column))
    try:
        value = json.loads(text)
    except ValueError:
        return redactor.text(text)
    cleaned = redactor.value(value, name=column)
    return text if cleaned == value else json.dumps(cleaned, separators=separators)


def _manifest(folder: Path, redactor: Redactor) -> dict[str, Any]:
    with Store.open(folder) as store:
        run = store.load()
    is_live = run.plan.profile == LIVE_PROFILE
    return {
        "schema": SCHEMA,
        "siar": VERSION,
        "run": run.id,
        "started": run.started,
        "complete": run.complete,
        "simulated": run.simulated,
        "seed": None if is_live else run.plan.seed,
        "plan_sha256": plan_sha256(run.plan),
        "database_version": _version_of(folder / FILE_NAME),
        "versions": {"python": run.conditions.get("python"), "packages": run.conditions.get("packages")},
        "replaced": dict(sorted(redactor.counts.items())),
        "files": [
            {"name": path.name, "bytes": path.stat().st_size, "sha256": sha256_of(path)}
            for path in sorted(folder.iterdir())
            if path.name != MANIFEST
        ],
        "columns": {
            name: columns(dictionary)
            for name, dictionary in DICTIONARIES.items()
            if (folder / name).is_file()
        },
    }


def _version_of(path: Path) -> int:
    """Return the schema version that the run was written with; exporting does not change it."""
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
        return int(database.execute("PRAGMA user_version").fetchone()[0])


def _own_names() -> list[str]:
    """Return this machine's own host name, long and short."""
    name = socket.gethostname()
    return [name, name.partition(".")[0]]
