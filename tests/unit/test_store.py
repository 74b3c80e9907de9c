"""The store of a run: what is written comes back, and what is no run is refused in words."""

import contextlib
import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import pytest

from app.core.clocksync.sync import Probe
from app.core.delivery import Lifecycle
from app.core.errors import Conflict, StoreError
from app.core.instrument import ConnectionRecord, InstrumentRecord, TcpInfo
from app.core.lifecycle import LifecycleReport
from app.core.trial import Severity
from app.i18n import text
from app.lab.analysis.validity.trial_warnings import seen, texts
from app.store import rows, schema
from app.store.schema import VERSION
from app.store.store import FILE_NAME, ClientBatch, Published, RunHead, StampedProbe, Store
from tests.support import records
from tests.tools import suite


def head(run: str = "2026-11-21T10-40-07-a1b2") -> RunHead:
    return RunHead(run, "2026-11-21T10:40:07Z", records.plan(), {"kernel": "6.1", "governor": None})


def test_what_is_written_comes_back_the_same(tmp_path: Path) -> None:
    trials = (records.trial(0), records.trial(1))

    with Store.create(tmp_path / "run", head()) as store:
        for trial in trials:
            store.add_trial(trial, published=[Published(0, 11, 990_000, 990_100)])
        store.finish(ended="2026-11-21T10:41:00Z", conditions={"load_average_end": [0.1]})

    with Store.open(tmp_path / "run") as store:
        run = store.load()
        assert store.published(1) == [Published(0, 11, 990_000, 990_100)]
    assert run.trials == trials
    assert (run.id, run.started, run.plan, run.complete) == (head().id, head().started, records.plan(), True)
    assert run.conditions == {"kernel": "6.1", "governor": None, "load_average_end": [0.1]}
    assert run.simulated is True


def tcp(at_us: int, **changes: object) -> TcpInfo:
    values = dict.fromkeys((each.name for each in fields(TcpInfo)), 7) | {"at_us": at_us, **changes}
    return TcpInfo(**values)  # type: ignore[arg-type]


def test_what_the_server_recorded_comes_back_the_same(tmp_path: Path) -> None:
    recorded = InstrumentRecord(
        dropped=2,
        connections=(
            ConnectionRecord(0, "127.0.0.1", 4001, ((0, 1_000_300), (2, 1_020_300)), tcp(1), tcp(2)),
            ConnectionRecord(None, "::1", 4002, (), tcp(3, bytes_sent=None, min_rtt_us=None), None),
        ),
    )
    trials = tuple(
        replace(records.trial(index), instrument=instrument)
        for index, instrument in enumerate((recorded, InstrumentRecord("Nothing is known."), None))
    )

    with Store.create(tmp_path / "run", head()) as store:
        for trial in trials:
            store.add_trial(trial)

    with Store.open(tmp_path / "run") as store:
        assert store.load().trials == trials


def test_who_took_part_and_how_each_behaved_comes_back_the_same(tmp_path: Path) -> None:
    trial = replace(
        records.trial(),
        participants=(4, 1),
        lifecycle_reports=(
            LifecycleReport(1),
            LifecycleReport(4, 2, 3.5, 4.5, 5.5, 1, 12, 11, ((7.25, "freeze"), (9.0, "resume")), 1.5e15),
        ),
        deliveries=(records.delivery(client=4, visible=False, lifecycle=Lifecycle.HIDDEN),),
    )

    with Store.create(tmp_path / "run", head()) as store:
        store.add_trial(trial)

        assert store.load().trials == (trial,)


def test_deliveries_from_before_there_was_a_lifecycle_were_visible(tmp_path: Path) -> None:
    make_old(tmp_path / "run", 2)
    with contextlib.closing(sqlite3.connect(tmp_path / "run" / FILE_NAME)) as database, database:
        database.execute(
            "INSERT INTO trial VALUES (0, 0, 1, ?, 0, 1, 2, 1, '[]', NULL, NULL, 0, 0, 1, '[]')",
            ('{"name": "sse", "transport": "sse", "factors": {}}',),
        )
        database.execute(
            "INSERT INTO delivery VALUES (0, 0, 1, 0, 3, 5, 6, 7.0, 8.0, 9.0, NULL, 'ok', 'on_time', 1)"
        )

    with Store.open(tmp_path / "run") as store:
        (trial,) = store.load().trials

    assert trial.deliveries[0].lifecycle is Lifecycle.VISIBLE
    assert (trial.participants, trial.lifecycle_reports) == ((), ())


def test_how_phones_behaved_before_they_told_their_wall_clock_is_read(tmp_path: Path) -> None:
    make_old(tmp_path / "run", 4)
    with contextlib.closing(sqlite3.connect(tmp_path / "run" / FILE_NAME)) as database, database:
        database.execute(
            "INSERT INTO trial VALUES (0, 0, 1, ?, 0, 1, 2, 1, '[]', NULL, NULL, 0, 0, 1, '[]')",
            ('{"name": "sse", "transport": "sse", "factors": {}}',),
        )
        database.execute(
            "INSERT INTO conduct VALUES (0, 3, 1, 2.0, 0.0, 0.0, 0, 12, 11, '[[7.5, \"hidden\"]]')"
        )

    with Store.open(tmp_path / "run") as store:
        (trial,) = store.load().trials

    assert trial.lifecycle_reports == (LifecycleReport(3, 1, 2.0, 0.0, 0.0, 0, 12, 11, ((7.5, "hidden"),)),)


def make_old(folder: Path, version: int) -> None:
    """A run as an older version wrote it."""
    Store.create(folder, head()).close()
    database = sqlite3.connect(folder / FILE_NAME)
    with database:
        rows = database.execute("SELECT * FROM run").fetchall()
        (folder / FILE_NAME).rename(folder / "newest")
    database.close()
    with contextlib.closing(sqlite3.connect(folder / FILE_NAME)) as database, database:
        for statement in schema.statements(version):
            database.execute(statement)
        database.executemany("INSERT INTO run VALUES (?, ?, ?, ?, ?, ?)", rows)


OLDER = pytest.mark.parametrize("version", range(1, VERSION))


@OLDER
def test_a_run_of_an_older_version_is_read_without_being_changed(tmp_path: Path, version: int) -> None:
    make_old(tmp_path / "run", version)
    before = (tmp_path / "run" / FILE_NAME).read_bytes()

    with Store.open(tmp_path / "run") as store:
        run = store.load()

    assert (run.id, run.trials) == (head().id, ())
    assert (tmp_path / "run" / FILE_NAME).read_bytes() == before


@OLDER
def test_who_writes_to_a_run_of_an_older_version_brings_it_up(tmp_path: Path, version: int) -> None:
    make_old(tmp_path / "run", version)
    trial = replace(records.trial(), instrument=InstrumentRecord("Nothing is known."))

    with Store.open(tmp_path / "run", write=True) as store:
        store.add_trial(trial)

    with Store.open(tmp_path / "run") as store:
        assert store.load().trials == (trial,)
    database = sqlite3.connect(tmp_path / "run" / FILE_NAME)
    assert database.execute("PRAGMA user_version").fetchone() == (VERSION,)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        database.execute("DELETE FROM instrument")
    database.close()


@OLDER
def test_warnings_of_an_older_version_keep_their_text(tmp_path: Path, version: int) -> None:
    make_old(tmp_path / "run", version)
    old = {"code": "source_failed", "severity": "void", "text": "It stopped.", "advice": "Look."}
    values = rows.trial_values(records.trial()) | {"warnings": json.dumps([old])}
    with contextlib.closing(sqlite3.connect(tmp_path / "run" / FILE_NAME)) as database, database:
        places = ", ".join(f":{name}" for name in values)
        database.execute(f"INSERT INTO trial ({', '.join(values)}) VALUES ({places})", values)

    with Store.open(tmp_path / "run") as store:
        (trial,) = store.load().trials

    (warning,) = trial.warnings
    assert (warning.code, warning.severity) == ("source_failed", Severity.VOID)
    assert texts(warning) == {"text": "It stopped.", "advice": "Look."}
    assert text(seen(warning), "id") == "It stopped."


@OLDER
def test_an_upgraded_run_has_the_tables_of_a_new_one(tmp_path: Path, version: int) -> None:
    make_old(tmp_path / "old", version)
    Store.open(tmp_path / "old", write=True).close()
    Store.create(tmp_path / "new", head()).close()

    def made_of(folder: Path) -> set[tuple[str, str]]:
        with contextlib.closing(sqlite3.connect(folder / FILE_NAME)) as database:
            return set(database.execute("SELECT name, sql FROM sqlite_master"))

    assert made_of(tmp_path / "old") == made_of(tmp_path / "new")


def test_a_run_is_incomplete_until_it_is_finished(tmp_path: Path) -> None:
    with Store.create(tmp_path / "run", head()) as store:
        store.add_trial(records.trial())
        store.stop(ended="2026-11-21T10:41:00Z")

        assert store.load().complete is False


def test_a_reader_looks_on_while_the_run_is_written(tmp_path: Path) -> None:
    with Store.create(tmp_path / "run", head()) as writer:
        writer.add_trial(records.trial(0))
        with Store.open(tmp_path / "run") as reader:
            assert len(reader.load().trials) == 1
            writer.add_trial(records.trial(1))
            assert len(reader.load().trials) == 2


def test_a_run_on_a_read_only_medium_can_be_read(tmp_path: Path) -> None:
    with Store.create(tmp_path / "run", head()) as store:
        store.add_trial(records.trial())
    (tmp_path / "run" / FILE_NAME).chmod(0o400)
    (tmp_path / "run").chmod(0o500)

    with Store.open(tmp_path / "run") as store:
        assert len(store.load().trials) == 1
    (tmp_path / "run").chmod(0o700)


def test_a_trial_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    with Store.create(tmp_path / "run", head()) as store:
        with pytest.raises(StoreError):
            store.add_trial(records.trial(0), published=[Published(0, 1, 2, 3)] * 2)

        assert store.load().trials == ()


def test_a_writer_that_is_killed_loses_no_finished_trial(tmp_path: Path) -> None:
    script = f"""
import os, signal
from pathlib import Path
from app.store.store import Store
from tests.support import records
from tests.unit.test_store import head
store = Store.create(Path({str(tmp_path / "run")!r}), head())
store.add_trial(records.trial(0))
store._database.execute("BEGIN IMMEDIATE")
store._insert("published", [(9, 9, 9, 9, 9)])
os.kill(os.getpid(), signal.SIGKILL)
"""
    ended = subprocess.run([sys.executable, "-P", "-c", script], env=suite.environment())

    assert ended.returncode == -9
    with Store.open(tmp_path / "run") as store:
        assert len(store.load().trials) == 1
        assert store.load().complete is False
        assert store.published(9) == []


@pytest.mark.parametrize(
    "statement", ["UPDATE delivery SET due_us = 0", "DELETE FROM trial", "DELETE FROM run"]
)
def test_nobody_changes_what_was_measured(tmp_path: Path, statement: str) -> None:
    with Store.create(tmp_path / "run", head()) as store:
        store.add_trial(records.trial())
    database = sqlite3.connect(tmp_path / "run" / FILE_NAME)

    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        database.execute(statement)
    database.close()


def test_a_folder_is_made_once(tmp_path: Path) -> None:
    Store.create(tmp_path / "run", head()).close()

    with pytest.raises(Conflict, match="exists already"):
        Store.create(tmp_path / "run", head())
    with pytest.raises(Conflict, match="exists already"):
        Store.create(tmp_path / "run", head(), folder_exists=True)


@contextlib.contextmanager
def a_full_disk(bytes_max: int) -> Iterator[None]:
    """No file may grow beyond that."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handled = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_max, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handled)


@pytest.mark.parametrize("bytes_max", [0, 1000, 20_000], ids=["no byte", "no page", "no table"])
def test_a_run_for_which_the_disk_has_no_room_is_refused_in_words_and_leaves_nothing(
    tmp_path: Path, bytes_max: int
) -> None:
    """Half a store would be taken for a damaged run, and that sentence for the reason why nothing was measured."""
    (tmp_path / "made").mkdir()

    with a_full_disk(bytes_max):
        with pytest.raises(StoreError, match="cannot be written"):
            Store.create(tmp_path / "run", head())
        for name in ("run", "made"):
            with pytest.raises(StoreError, match="cannot be written"):
                Store.create(tmp_path / name, head(), folder_exists=True)

    assert [path.name for path in tmp_path.rglob("*")] == ["made"]


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="not the folder of a run"):
        Store.open(tmp_path)


def test_a_foreign_database_is_refused(tmp_path: Path) -> None:
    database = sqlite3.connect(tmp_path / FILE_NAME)
    database.execute("CREATE TABLE x (y)")
    database.close()

    with pytest.raises(StoreError, match="not a database of Siar"):
        Store.open(tmp_path)


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    Store.create(tmp_path / "run", head()).close()
    database = sqlite3.connect(tmp_path / "run" / FILE_NAME)
    database.execute(f"PRAGMA user_version = {VERSION + 1}")
    database.close()

    with pytest.raises(StoreError, match="use a newer one"):
        Store.open(tmp_path / "run")


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux tells open files so")
def test_a_file_that_is_refused_is_let_go_of(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"not a database at all, but long enough to be looked at" * 100)

    with pytest.raises(StoreError):
        Store.open(tmp_path)

    held = [os.readlink(each) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]
    assert str(tmp_path / FILE_NAME) not in held


@pytest.mark.parametrize("damage", ["text", "cut", "zeros"])
def test_a_damaged_file_is_refused_in_words(tmp_path: Path, damage: str) -> None:
    with Store.create(tmp_path / "run", head()) as store:
        for index in range(20):
            store.add_trial(records.trial(index))
    path = tmp_path / "run" / FILE_NAME
    content = path.read_bytes()
    path.write_bytes(
        {
            "text": b"not a database at all, but long enough to be looked at" * 100,
            "cut": content[:6000],
            "zeros": content[:5000] + bytes(len(content) - 5000),
        }[damage]
    )

    with pytest.raises(StoreError, match=r"damaged|not a database"), Store.open(tmp_path / "run") as store:
        store.load()


def test_probes_come_back_in_their_order(tmp_path: Path) -> None:
    probes = [StampedProbe("built-in", "ab", Probe(i, i + 2, i + 3, i + 5.5)) for i in range(3)]

    with Store.create(tmp_path / "run", head()) as store:
        store.add_probes(probes)

        assert store.probes() == probes


def test_a_batch_counts_once_for_each_device(tmp_path: Path) -> None:
    sample = {"id": "e.1", "transport": "sse", "due_us": 1, "visible": True}
    first = ClientBatch("phone", "b1", 5, "run", 3, "websocket", "ab", (sample, sample))

    with Store.create(tmp_path / "run", head()) as store:
        assert store.add_batches([first, first], spool_position_bytes=10) == 1
        assert store.add_batches([first, ClientBatch("tablet", "b1", 6)], spool_position_bytes=20) == 1

        assert store.spool_position_bytes() == 20
        samples = store.samples()
    assert len(samples) == 2
    assert (samples[0]["device"], samples[0]["id"], samples[0]["displayed_client_us"]) == (
        "phone",
        "e.1",
        None,
    )


def test_display_delays_of_a_trial_are_those_of_first_arrivals_that_a_visible_page_painted(
    tmp_path: Path,
) -> None:
    def sample(displayed_us: float | None, **changes: object) -> dict[str, object]:
        seen = {"received_client_us": 1000.0, "displayed_client_us": displayed_us}
        return {"id": "e.1", "outcome": "on_time", "visible": True, **seen, **changes}

    samples = (
        *(sample(9_500.0), sample(31_000.0, outcome="late"), sample(None)),
        *(sample(9_000.0, visible=False), sample(9_000.0, outcome="replayed")),
    )
    with Store.create(tmp_path / "run", head()) as store:
        for index in range(2):
            store.add_trial(records.trial(index))
        store.add_batches([ClientBatch("phone", "b1", 5, samples=samples, trial=1)], spool_position_bytes=10)

    with Store.open(tmp_path / "run") as store:
        first, second = store.load().trials
    assert list(first.display_ms) == []
    assert list(second.display_ms) == [8.5, 30.0]
