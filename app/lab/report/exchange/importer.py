"""A run from elsewhere into the folder of runs: everything about it is a stranger's word until it was checked.

    names      only the files that an export has, in one folder: no path of the archive is ever used as one
    links      refused, and so are encrypted, doubled and foreign members
    sizes      of each file, of all, of how far they unpack, and of the disk: read with a limit, whatever they claim
    content    hashes of the manifest; the database's tables, guards and version are exactly those of a run
    drawn      report and CSV files are never taken over: they are drawn here, from the rows

It is unpacked beside the runs under a hidden name, and renamed when all is well: what was refused leaves nothing.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from app.core.errors import Conflict, Malformed, StoreError, Unknown
from app.core.plan.scenario import LIVE_PROFILE
from app.core.trial import RunRecord
from app.lab.analysis.analyse import analyse
from app.lab.report.data.csv_files import WRITERS
from app.lab.report.exchange.exporter import CHUNK_BYTES, MANIFEST, RESULT, SCHEMA, sha256_of
from app.lab.report.files import write_all
from app.store import schema
from app.store.archive.export import LOAD_FILES
from app.store.archive.folders import RUN_ID
from app.store.store import FILE_NAME, Store

NAMES = frozenset(
    {MANIFEST, FILE_NAME, RESULT, "report.html", *WRITERS, "removed.json", "README.txt"} | set(LOAD_FILES)
)
TAKEN = (MANIFEST, FILE_NAME, RESULT, "removed.json", "load.jsonl")
"""What is taken over; the rest is drawn here, since a page from a stranger is a stranger's program."""

NOT_A_RUN = (
    *(ValueError, ArithmeticError, LookupError, TypeError, AttributeError, AssertionError),
    *(RecursionError, MemoryError, Malformed),
)
"""What rows that no runner wrote make the analysis raise."""

OF_DESKTOPS = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})

FILE_BYTES_MAX = 4 * 1024**3
ALL_BYTES_MAX = 6 * 1024**3
MANIFEST_BYTES_MAX = 1024**2
UNPACKS_MAX = 200
"""Times its packed size; rows of digits pack to a tenth, and only what is made for it to a thousandth."""
SMALL_BYTES = 1024**2
"""Below, how far a file unpacks does not matter."""


def import_run(source: Path, runs_dir: Path) -> tuple[Path, bool]:
    """The new folder of the run in `source`, a zip or a folder, and whether a manifest vouched for it.

    Raises `Unknown` where there is nothing, `StoreError` for what is damaged, foreign or hostile, `Conflict` for a run that
    is here already.
    """
    try:
        runs_dir.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".import-", dir=runs_dir) as scratch:
            taken = Path(scratch) / "run"
            taken.mkdir()
            with _members(source) as members:
                _take(source, members, taken)
            manifest = _checked_manifest(source, taken)
            run = _checked_run(source, taken, manifest)
            target = runs_dir / run
            if target.exists() or target.is_symlink():
                raise Conflict(f"The run {run} is here already: {target}.")
            taken.rename(target)
            return target, manifest is not None
    except OSError as error:
        raise StoreError(f"{source} cannot be imported: {error.strerror or error}.") from error


class _Member:
    """A file of the archive, not yet believed."""

    def __init__(self, name: str, size: int, packed: int | None, source: zipfile.ZipFile | Path) -> None:
        self.name, self.size, self.packed, self._source = name, size, packed, source
        self.full_name = name

    def open(self) -> IO[bytes]:
        """Its content. A link in a folder is not followed, and a pipe not waited for."""
        if isinstance(self._source, zipfile.ZipFile):
            return self._source.open(self.full_name)
        handle = os.open(self._source / self.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        return os.fdopen(handle, "rb")


@contextmanager
def _members(source: Path) -> Iterator[list[_Member]]:
    if source.is_dir():
        with os.scandir(source) as entries:
            members = [_file(source, entry) for entry in entries if not _is_of_a_desktop(entry.name)]
        yield members
        return
    if not source.is_file():
        raise Unknown(f"There is no file or folder {source} to import.")
    try:
        with zipfile.ZipFile(source) as packed:
            yield _of_zip(source, packed)
    except (
        *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error),
        *(NotImplementedError, EOFError, RuntimeError, UnicodeError),
    ) as error:
        raise StoreError(f"{source} is no intact zip file: {error}.") from error


def _is_of_a_desktop(path: str) -> bool:
    """Tell whether macOS or Windows added the entry when somebody packed the run again; it is skipped unread."""
    first, *_ = parts = path.split("/")
    name = parts[-1]
    return first == "__MACOSX" or name in OF_DESKTOPS or name.startswith("._")


def _file(source: Path, entry: os.DirEntry[str]) -> _Member:
    if not entry.is_file(follow_symlinks=False):
        raise StoreError(f"{source} holds {entry.name!r}, which is a link or no file; nothing was imported.")
    return _Member(entry.name, entry.stat(follow_symlinks=False).st_size, None, source)


def _of_zip(source: Path, packed: zipfile.ZipFile) -> list[_Member]:
    """The members of a zip, whose only folder may have any name: it is used nowhere."""
    members, folders = [], set()
    for entry in packed.infolist():
        if _is_of_a_desktop(entry.filename):
            continue
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise StoreError(f"{source} holds a link or device, {entry.filename!r}; nothing was imported.")
        if entry.flag_bits & 0x1:
            raise StoreError(f"{source} is encrypted; unpack it first.")
        folder, _, name = entry.filename.rpartition("/")
        folders.add(folder)
        if entry.is_dir() and not name:
            continue
        member = _Member(name, entry.file_size, entry.compress_size, packed)
        member.full_name = entry.filename
        members.append(member)
    if len(folders) > 1 or any(not re.fullmatch(r"[^/\\:]*", folder) or folder == ".." for folder in folders):
        raise StoreError(f"{source} has more than the one folder of a run; nothing was imported.")
    return members


def _take(source: Path, members: list[_Member], target: Path) -> None:
    """Copy what is taken over, within the limits, under the names that we know."""
    names = [member.name for member in members]
    for member in members:
        if member.name not in NAMES or names.count(member.name) > 1:
            raise StoreError(
                f"{source} holds {member.full_name!r}, which no export has; nothing was imported."
            )
        if member.size > FILE_BYTES_MAX:
            raise StoreError(f"{source}: {member.name} has more than {FILE_BYTES_MAX} bytes.")
        if member.packed is not None and member.size > max(SMALL_BYTES, UNPACKS_MAX * member.packed):
            raise StoreError(f"{source}: {member.name} unpacks to more than {UNPACKS_MAX} times its size.")
    total = sum(member.size for member in members)
    if total > ALL_BYTES_MAX or total > shutil.disk_usage(target).free:
        raise StoreError(f"{source} takes {total} bytes, more than is allowed or free here.")
    if FILE_NAME not in names:
        raise StoreError(f"{source} is no export of a run: it has no {FILE_NAME}.")
    for member in members:
        if member.name in TAKEN:
            _copy(source, member, target / member.name)


def _copy(source: Path, member: _Member, target: Path) -> None:
    """Never more than it claimed to have, whatever comes."""
    left = member.size
    with member.open() as given, target.open("xb") as file:
        while chunk := given.read(min(CHUNK_BYTES, left + 1)):
            left -= len(chunk)
            if left < 0:
                raise StoreError(f"{source}: {member.name} is longer than it says.")
            file.write(chunk)
    if left:
        raise StoreError(f"{source}: {member.name} is cut short.")


def _checked_manifest(source: Path, taken: Path) -> Mapping[str, Any] | None:
    """The manifest, if there is one and what it says of the files taken is so."""
    path = taken / MANIFEST
    if not path.exists():
        return None
    try:
        if path.stat().st_size > MANIFEST_BYTES_MAX:
            raise ValueError("it is too long")
        found = json.loads(path.read_text(encoding="utf-8"))
        version = int(found["schema"])
        files = {str(each["name"]): str(each["sha256"]) for each in found["files"]}
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise StoreError(f"{source}: {MANIFEST} is damaged: {error}.") from error
    if version != SCHEMA:
        raise StoreError(f"{source} is of form {version}, and this Siar reads {SCHEMA}: use a newer one.")
    for name in TAKEN:
        if name != MANIFEST and (taken / name).exists() and files.get(name) != sha256_of(taken / name):
            raise StoreError(f"{source}: {name} is not what {MANIFEST} says; it was changed or damaged.")
    if missing := [name for name in TAKEN if name in files and not (taken / name).exists()]:
        raise StoreError(f"{source}: {missing[0]} is missing, which {MANIFEST} has.")
    return dict(found)


def _checked_run(source: Path, taken: Path, manifest: Mapping[str, Any] | None) -> str:
    """The run's id, once its database is one and everything could be drawn from it."""
    _check_tables(source, taken / FILE_NAME)
    try:
        with Store.open(taken) as store:
            record = store.load()
        if not RUN_ID.fullmatch(record.id):
            raise StoreError(f"{source}: {record.id[:80]!r} is no name for a run.")
        if manifest is not None and manifest.get("run") != record.id:
            raise StoreError(f"{source}: {MANIFEST} is of another run than {FILE_NAME}.")
        if record.plan.profile != LIVE_PROFILE:
            _draw(record, taken)
    except NOT_A_RUN as error:
        raise StoreError(f"{source}: its rows make no run: {error}.") from error
    return record.id


def _draw(record: RunRecord, taken: Path) -> None:
    """Report and CSV files from the rows; `result.json` stays as it came, so that `verify` has something to compare with."""
    given = taken / RESULT
    # Put aside and not read: it may be as large as a stranger likes, up to `FILE_BYTES_MAX`.
    aside = given.replace(taken.with_name(RESULT)) if given.exists() else None
    write_all(analyse(record), taken)
    if aside is not None:
        aside.replace(given)


def _check_tables(source: Path, path: Path) -> None:
    """Exactly the tables, indexes and guards of a run's version: nothing that could act when it is read."""
    wanted: set[tuple[str, ...]] = set()
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as found:
            with suppress(sqlite3.NotSupportedError):
                found.execute("PRAGMA trusted_schema = OFF")
            version = found.execute("PRAGMA user_version").fetchone()[0]
            if found.execute("PRAGMA application_id").fetchone()[0] != schema.APPLICATION_ID:
                raise StoreError(f"{source}: {FILE_NAME} is not a database of Siar.")
            if not 1 <= version <= schema.VERSION:
                raise StoreError(
                    f"{source} has version {version}, and this Siar reads up to {schema.VERSION}: use a newer one."
                )
            with closing(sqlite3.connect(":memory:")) as model:
                for statement in schema.statements(version):
                    model.execute(statement)
                wanted = _objects(model)
            if _objects(found) != wanted:
                raise StoreError(f"{source}: {FILE_NAME} has other tables than a run; nothing was imported.")
            problem = found.execute("PRAGMA quick_check(1)").fetchone()[0]
            if problem != "ok":
                raise StoreError(f"{source}: {FILE_NAME} is damaged: {problem}.")
    except sqlite3.Error as error:
        raise StoreError(f"{source}: {FILE_NAME} is damaged: {error}.") from error


def _objects(database: sqlite3.Connection) -> set[tuple[str, ...]]:
    found = database.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema")
    return {(kind, name, table, " ".join((sql or "").split())) for kind, name, table, sql in found}
