"""Folders of stored runs that a disk, a crash or a stranger with access has damaged: a clear word, and never a traceback.

Everything that reads a stored run is asked: the pages and downloads of a server, the analysis behind the commands, the
export and what deletes.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console

from app.cli.measuring import load
from app.core.errors import SiarError
from app.lab.analysis.validity.clock_check import check_clocks
from app.lab.report.exchange.exporter import export_zip
from app.lab.report.files import write_all
from app.lab.report.renderers.console.result import print_details, print_first_screen
from app.lab.report.renderers.html import report_html
from app.server.factory import SiarApp, create_app
from app.settings import Settings
from app.store import schema
from app.store.archive.forget import forget_device
from app.store.store import Store
from tests.support.fuzz import effort, json_values
from tests.support.stored_run import DEVICES, NAMES, store_run

pytestmark = pytest.mark.slow

TOKEN = "an-operators-token-that-is-long-enough-never-to-wait"
RUN = "stored"
KEY = "0" * 32
"""Of the result in it (stored_run.py)."""

DEEP = b"[" * 100_000
"""JSON that a parser follows until it may go no deeper."""

AGES_AGO_S = 1_700_000_000

SAID = {"damaged", "run_file_a_link", "run_file_unreadable", "run_file_strange"}
"""Codes under which a server says that it cannot read what was stored."""

Damage = Callable[[Path], None]
"""What happens to a folder."""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SiarApp]:
    made = create_app(Settings(admin_token=TOKEN, runs_dir=tmp_path_factory.mktemp("runs")))
    yield made
    made.drain()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nobody has touched, with a row in every table."""
    folder = store_run(tmp_path_factory.mktemp("whole"), RUN)
    with contextlib.closing(sqlite3.connect(folder / "run.sqlite")) as database:
        for table in schema.TABLES:
            if database.execute(f'SELECT count(*) FROM "{table}"').fetchone() == (0,):
                row = [FILLED.get(name) or BY_KIND[kind] for kind, name in columns_of(database, table)]
                database.execute(f'INSERT INTO "{table}" VALUES ({", ".join("?" * len(row))})', row)
        database.commit()
    load(folder)
    return folder


BY_KIND = {"INTEGER": 0, "REAL": 1.0, "TEXT": "[]"}
FILLED = {"trial": 1, "edge": "before"}
"""What stands in the one row of a table that would have none."""


def columns_of(database: sqlite3.Connection, table: str) -> list[tuple[str, str]]:
    """Type and name of each."""
    return [(row[2], row[1]) for row in database.execute(f'PRAGMA table_info("{table}")')]


def put(whole: Path, runs_dir: Path, damages: list[Damage]) -> Path:
    """A copy of the run in `runs_dir`, damaged."""
    folder = runs_dir / RUN
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(whole, folder)
    for damage in damages:
        damage(folder)
    for path in (folder, *folder.iterdir()):
        os.utime(path, (AGES_AGO_S, AGES_AGO_S), follow_symlinks=False)  # Nobody is writing it.
    return folder


def files_of(folder: Path) -> list[Path]:
    return sorted(each for each in folder.rglob("*") if each.is_file() and not each.is_symlink())


def named(name: str, content: bytes) -> Damage:
    """A file with this in it."""

    def damage(folder: Path) -> None:
        (folder / name).write_bytes(content)

    return damage


def a_pipe(name: str) -> Damage:
    """Whoever reads it waits for ever, unless it is looked at first."""

    def damage(folder: Path) -> None:
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return damage


def column(table: str, name: str, value: object) -> Damage:
    """One column of the database, for all rows: of any type, as SQLite lets anybody write it."""

    def damage(folder: Path) -> None:
        path = folder / "run.sqlite"
        if not path.is_file() or path.is_symlink():
            return
        with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path)) as database:
            for (guard,) in database.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'trigger'"
            ).fetchall():
                database.execute(f'DROP TRIGGER "{guard}"')
            database.execute(f'UPDATE OR IGNORE "{table}" SET "{name}" = ?', (value,))
            database.commit()

    return damage


def content_changed(which: float, change: Callable[[bytes], bytes]) -> Damage:
    def damage(folder: Path) -> None:
        if found := files_of(folder):
            path = found[int(which * len(found))]
            path.write_bytes(change(path.read_bytes()))

    return damage


def replaced(which: float, kind: str) -> Damage:
    def damage(folder: Path) -> None:
        if not (found := files_of(folder)):
            return
        path = found[int(which * len(found))]
        path.unlink()
        if kind == "folder":
            path.mkdir()
        elif kind == "link":
            path.symlink_to(folder.parent / "elsewhere")
        elif kind == "pipe":
            os.mkfifo(path)

    return damage


def wounded(wounds: list[tuple[float, int]]) -> Callable[[bytes], bytes]:
    def change(content: bytes) -> bytes:
        changed = bytearray(content)
        for share, value in wounds if content else ():
            changed[int(share * len(changed))] = value
        return bytes(changed)

    return change


def columns() -> list[tuple[str, str]]:
    """Every column of a run's database, by table."""
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        for statement in schema.statements():
            database.execute(statement)
        return [(table, name) for table in schema.TABLES for _, name in columns_of(database, table)]


COLUMNS = columns()

shares = st.floats(0, 1, exclude_max=True)
changes = (
    st.lists(st.tuples(shares, st.integers(0, 255)), min_size=1, max_size=6).map(wounded)
    | shares.map(lambda share: lambda content: content[: int(share * len(content))])
    | json_values.map(lambda value: lambda _content: json.dumps(value).encode())
    | json_values.map(lambda value: lambda content: one_member_changed(content, value))
    | st.binary(max_size=100).map(lambda data: lambda _content: data)
    | st.just(lambda _content: DEEP)
)
sql_values = (
    st.sampled_from([0, -1, 2**62, 1e200, "", "[]", "[null]", '["0"]', '{"a": 1}', "[1e400]", "[" * 100_000])
    | st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.text(max_size=30)
    | st.binary(max_size=30)
    | json_values.map(json.dumps)
)
damages = st.lists(
    st.builds(content_changed, shares, changes)
    | st.builds(replaced, shares, st.sampled_from(["nothing", "folder", "link", "pipe"]))
    | st.builds(lambda place, value: column(place[0], place[1], value), st.sampled_from(COLUMNS), sql_values),
    min_size=1,
    max_size=3,
)


def one_member_changed(content: bytes, value: object) -> bytes:
    """A JSON object with one of its members replaced, which a parser alone does not refuse."""
    try:
        found = json.loads(content)
    except ValueError:
        return content
    if isinstance(found, dict) and found:
        found[sorted(found)[len(repr(value)) % len(found)]] = value
    return json.dumps(found).encode()


@effort(80)
@given(damages=damages)
@example(damages=[a_pipe(f"results/{KEY}.json")])
@example(damages=[named("result.json", DEEP)])
def test_a_server_answers_for_a_damaged_run_in_words(
    app: SiarApp, whole: Path, damages: list[Damage]
) -> None:
    put(whole, app.services.settings.runs_dir, damages)
    operator = {"Authorization": f"Bearer {TOKEN}"}
    client = app.test_client()

    for path, headers in (
        ("/api/runs", operator),
        (f"/api/runs/{RUN}", operator),
        (f"/api/runs/{RUN}/report", operator),
        (f"/results/{RUN}/{KEY}", {}),
        (f"/api/results/{RUN}/{KEY}", {}),
    ):
        answer = client.get(path, headers=headers)
        assert answer.status_code < 500 or answer.get_json()["code"] in SAID, (path, answer.text[:500])
    answer = client.delete(f"/api/runs/{RUN}", headers=operator)
    if answer.status_code == 409:  # Its database no longer says that it is ours.
        assert answer.get_json()["code"] == "run_not_ours", answer.text
        return
    assert answer.status_code == 200, answer.text
    answer = client.post(f"/api/runs/{RUN}/restore", headers=operator)
    assert answer.status_code == 200, answer.text


@effort(150)
@given(damages=damages)
@example(damages=[column("trial", "started_us", "")])
@example(damages=[column("cpu", "cpu_percent_before", "")])
@example(damages=[column("cpu", "machine_busy_s", 1e308)])
@example(damages=[column("delivery", "client", 2**31)])
@example(damages=[column("trial", "source_lag_us", '["0"]')])
@example(damages=[column("trial", "warnings", DEEP.decode())])
def test_the_commands_read_a_damaged_run_or_say_what_is_wrong_with_it(
    whole: Path, damages: list[Damage]
) -> None:
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as drawn:
        folder = put(whole, Path(name), damages)

        with contextlib.suppress(SiarError):  # Anything else is a bug, and ends the test.
            analysis = load(folder)
            write_all(analysis, Path(drawn))
            console = Console(file=io.StringIO(), width=100)
            print_first_screen(analysis, console)
            print_details(analysis, console)


@pytest.mark.parametrize("value", [0, -1, 2**31, 1e200, "", '{"a": 1}'], ids=repr)
def test_no_column_makes_the_commands_fail_whatever_is_in_it(
    whole: Path, value: object, tmp_path: Path
) -> None:
    """2**31 is few enough for a list of so many clients to be begun, and too many for it ever to end."""
    for place in COLUMNS:
        folder = put(whole, tmp_path, [column(place[0], place[1], value)])
        try:
            analysis = load(folder)
            report_html(analysis)
            with Store.open(folder) as store:
                check_clocks(store.each_sample(), store.probes())
        except SiarError:
            continue
        except Exception as error:
            raise AssertionError(f"{place}: {error!r}") from error


@effort(60)
@given(damages=damages)
@example(damages=[named("participants.json", DEEP)])
@example(damages=[named("result.json", b"")])
@example(damages=[named("result.json", b'{"torn')])
def test_a_damaged_run_is_packed_or_refused_and_its_names_stay_inside(
    whole: Path, damages: list[Damage]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = put(whole, Path(name), damages)
        target = Path(name) / "run.zip"

        try:
            export_zip(folder, target)
        except SiarError:
            assert not target.exists()
        else:
            with zipfile.ZipFile(target) as opened:
                for member in opened.namelist():
                    content = opened.read(member)
                    assert not any(each.encode() in content for each in (*NAMES, *DEVICES)), member


@effort(60)
@given(damages=damages)
@example(damages=[named("participants.json", DEEP)])
@example(damages=[named("result.json", DEEP)])
def test_a_device_is_forgotten_in_a_damaged_run_or_the_run_is_named(
    whole: Path, damages: list[Damage]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = put(whole, Path(name), damages)
        database = folder / "run.sqlite"
        had = database.is_file() and DEVICES[0].encode() in database.read_bytes()

        removal = forget_device(Path(name), DEVICES[0])

        assert set(removal.failed) <= {RUN}
        if had and not removal.failed:
            assert DEVICES[0].encode() not in database.read_bytes()
