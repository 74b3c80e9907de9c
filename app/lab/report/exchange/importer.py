"""Import of a run from elsewhere; everything in it is untrusted until it was checked.

    names      only names of an export's files, in one folder; no path of the archive is used as a path
    links      refused, as are encrypted, duplicate and unknown members
    sizes      limits per file, in total, per compression ratio and by free disk space, enforced while reading
    content    hashes of the manifest; tables, triggers and schema version of the database must be exactly a run's
    reports    report and CSV files are never copied; they are written here from the rows

The run is unpacked next to the other runs under a hidden name and renamed at the end, so that a refused run leaves nothing.
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
COPIED_FILES = (MANIFEST, FILE_NAME, RESULT, "removed.json", "load.jsonl")
"""Files that are copied. The others are written here, because a foreign page may contain a foreign program."""

NOT_A_RUN = (
    *(ValueError, ArithmeticError, LookupError, TypeError, AttributeError, AssertionError),
    *(RecursionError, MemoryError, Malformed),
)
"""Exceptions that the analysis raises on rows that no runner wrote."""

DESKTOP_FILES = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})

SQL_TOKEN = re.compile(
    r"""[ \t\n\f\r]+ | --[^\n\0]* | /\*.*?(?:\*/|(?=\0)|\Z)
    | ( '[^']*(?:'|\Z) | "[^"]*(?:"|\Z) | `[^`]*(?:`|\Z) | \[[^\]]*(?:\]|\Z)
      | [^ \t\n\f\r'"`\[(),;/-]+ | . )""",
    re.VERBOSE | re.DOTALL,
)
"""White space and comments as SQLite reads them, up to a NUL, or (the group) another token. Takes linear time."""

FILE_BYTES_MAX = 4 * 1024**3
ALL_BYTES_MAX = 6 * 1024**3
MANIFEST_BYTES_MAX = 1024**2
UNPACKS_MAX = 200
"""Largest ratio of unpacked to packed size. Rows of digits pack to a tenth; only a zip bomb packs to a thousandth."""
SMALL_BYTES = 1024**2
"""Unpacked size below which the ratio does not matter."""


def import_run(source: Path, runs_dir: Path) -> tuple[Path, bool]:
    """Import the run in `source`, a zip file or a folder; return its new folder, and whether a manifest confirmed its files.

    Raises `Unknown` where there is nothing, `StoreError` for what is damaged, foreign or hostile, and `Conflict` for a run
    that exists already.
    """
    try:
        runs_dir.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".import-", dir=runs_dir) as scratch:
            folder = Path(scratch) / "run"
            folder.mkdir()
            with _members(source) as members:
                _copy_members(source, members, folder)
            manifest = _checked_manifest(source, folder)
            run = _checked_run(source, folder, manifest)
            target = runs_dir / run
            if target.exists() or target.is_symlink():
                raise Conflict(f"The run {run} is here already: {target}.")
            folder.rename(target)
            return target, manifest is not None
    except OSError as error:
        raise StoreError(f"{source} cannot be imported: {error.strerror or error}.") from error


class _Member:
    """An untrusted file of the archive."""

    def __init__(self, name: str, size: int, packed: int | None, source: zipfile.ZipFile | Path) -> None:
        self.name, self.size, self.packed, self._source = name, size, packed, source
        self.full_name = name

    def open(self) -> IO[bytes]:
        """Open its content for reading, without following a link and without waiting for a pipe."""
        if isinstance(self._source, zipfile.ZipFile):
            return self._source.open(self.full_name)
        handle = os.open(self._source / self.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        return os.fdopen(handle, "rb")


@contextmanager
def _members(source: Path) -> Iterator[list[_Member]]:
    """Provide the source's files. Raises `Unknown` and `StoreError` as `import_run` does."""
    if source.is_dir():
        with os.scandir(source) as entries:
            members = [
                _folder_member(source, entry) for entry in entries if not _is_added_by_desktop(entry.name)
            ]
        yield members
        return
    if not source.is_file():
        raise Unknown(f"There is no file or folder {source} to import.")
    try:
        with zipfile.ZipFile(source) as packed:
            yield _zip_members(source, packed)
    except (
        *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error),
        *(NotImplementedError, EOFError, RuntimeError, UnicodeError),
    ) as error:
        raise StoreError(f"{source} is no intact zip file: {error}.") from error


def _is_added_by_desktop(path: str) -> bool:
    """Tell whether macOS or Windows added the entry when somebody packed the run again. Such entries are skipped unread."""
    first, *_ = parts = path.split("/")
    name = parts[-1]
    return first == "__MACOSX" or name in DESKTOP_FILES or name.startswith("._")


def _folder_member(source: Path, entry: os.DirEntry[str]) -> _Member:
    if not entry.is_file(follow_symlinks=False):
        raise StoreError(f"{source} holds {entry.name!r}, which is a link or no file; nothing was imported.")
    return _Member(entry.name, entry.stat(follow_symlinks=False).st_size, None, source)


def _zip_members(source: Path, packed: zipfile.ZipFile) -> list[_Member]:
    """Return the members of a zip file. Its only folder may have any name, because the name is not used."""
    members, folders = [], set()
    for entry in packed.infolist():
        if _is_added_by_desktop(entry.filename):
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


def _copy_members(source: Path, members: list[_Member], target: Path) -> None:
    """Check names and sizes of all members, then copy those in `COPIED_FILES`. Raises `StoreError`."""
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
        if member.name in COPIED_FILES:
            _copy(source, member, target / member.name)


def _copy(source: Path, member: _Member, target: Path) -> None:
    """Copy exactly as many bytes as the member claims to have. Raises `StoreError` when it has more or fewer."""
    left = member.size
    with member.open() as content, target.open("xb") as file:
        while chunk := content.read(min(CHUNK_BYTES, left + 1)):
            left -= len(chunk)
            if left < 0:
                raise StoreError(f"{source}: {member.name} is longer than it says.")
            file.write(chunk)
    if left:
        raise StoreError(f"{source}: {member.name} is cut short.")


def _checked_manifest(source: Path, folder: Path) -> Mapping[str, Any] | None:
    """Return the manifest, or `None` without one. Raises `StoreError` where it does not match the copied files."""
    path = folder / MANIFEST
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
    for name in COPIED_FILES:
        if name != MANIFEST and (folder / name).exists() and files.get(name) != sha256_of(folder / name):
            raise StoreError(f"{source}: {name} is not what {MANIFEST} says; it was changed or damaged.")
    if missing := [name for name in COPIED_FILES if name in files and not (folder / name).exists()]:
        raise StoreError(f"{source}: {missing[0]} is missing, which {MANIFEST} has.")
    return dict(found)


def _checked_run(source: Path, folder: Path, manifest: Mapping[str, Any] | None) -> str:
    """Return the run's id after checking its database and writing its reports from the rows. Raises `StoreError`."""
    _check_tables(source, folder / FILE_NAME)
    try:
        with Store.open(folder) as store:
            record = store.load()
        if not RUN_ID.fullmatch(record.id):
            raise StoreError(f"{source}: {record.id[:80]!r} is no name for a run.")
        if manifest is not None and manifest.get("run") != record.id:
            raise StoreError(f"{source}: {MANIFEST} is of another run than {FILE_NAME}.")
        if record.plan.profile != LIVE_PROFILE:
            _write_reports(record, folder)
    except NOT_A_RUN as error:
        raise StoreError(f"{source}: its rows make no run: {error}.") from error
    return record.id


def _write_reports(record: RunRecord, folder: Path) -> None:
    """Write report and CSV files from the rows. `result.json` stays as it came, so that `verify` can compare with it."""
    result = folder / RESULT
    # Moved aside and not read: it may have up to `FILE_BYTES_MAX` bytes.
    moved = result.replace(folder.with_name(RESULT)) if result.exists() else None
    write_all(analyse(record), folder)
    if moved is not None:
        moved.replace(result)


def _check_tables(source: Path, path: Path) -> None:
    """Check that the database has exactly the objects of its schema version: nothing that could run code when it is read."""
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
    """Return type, name, table and SQL of all objects of a database.

    The SQL is without white space and comments: older versions name files in them that have moved.
    """
    found = database.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema")
    return {
        (kind, name, table, *filter(None, SQL_TOKEN.findall(sql or ""))) for kind, name, table, sql in found
    }
