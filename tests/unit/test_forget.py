"""A participant has what was recorded about it deleted: its rows, its name, its result; and nobody else's."""

from __future__ import annotations

import contextlib
import csv
import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from app.core.errors import StoreError
from app.core.lifecycle import LifecycleReport
from app.lab.analysis.analyse import analyse
from app.lab.report.files import write_all
from app.store.archive import retention
from app.store.archive.forget import CLIENT_TABLES, forget_device, removed_count
from app.store.archive.trash import TRASH_MARK, TRASH_MARK_FILE
from app.store.device_rows import DeletedRows, delete_device_rows
from app.store.store import FILE_NAME, ClientBatch, RunHead, Store
from tests.support import records
from tests.unit.test_archive import make_old

MINE, OTHER = "d-00000000000000aa", "d-00000000000000bb"
RUN = "2026-11-21T10-40-07-a1b2"

CLASS_COUNT = 12


def an_experiment(runs_dir: Path, run: str = RUN) -> Path:
    """Two phones, one trial: what a runner leaves behind."""
    folder = runs_dir / run
    said = [
        {"client": client, "pseudonym": f"P{client + 1}", "model": model, "browser": f"Browser {client}"}
        for client, model in enumerate(("Nokia <3310>", "Pixel 7"))
    ]
    head = RunHead(
        run, "2026-11-21T10:40:07Z", records.plan(), {"participants": said, "cores": 2}, simulated=False
    )
    first = records.trial(0)
    deliveries = tuple(
        replace(first.deliveries[0], client=client, seq=seq) for client in (0, 1) for seq in (0, 1)
    )
    trial = replace(
        first,
        deliveries=deliveries,
        participants=(0, 1),
        lifecycle_reports=(LifecycleReport(client=0), LifecycleReport(client=1)),
    )
    with Store.create(folder, head) as store:
        store.add_trial(trial)
        store.add_batches([a_batch(MINE), a_batch(OTHER)])
        store.finish(ended="2026-11-21T10:41:00Z", conditions={"participants": said})
    participants = [
        {"client": client, "device": device, "name": name, "pseudonym": f"phone-{client + 1}"}
        for client, (device, name) in enumerate(((MINE, "Siti"), (OTHER, "Budi")))
    ]
    (folder / "participants.json").write_text(json.dumps({"schema": 1, "participants": participants}))
    (folder / "results").mkdir()
    for seat, key in ((1, "mine"), (2, "other")):
        (folder / "results" / f"{key}.json").write_text(json.dumps({"seat": seat}))
    for name in CLIENT_TABLES:
        (folder / name).write_text("run,client,seq\r\nr,0,0\r\nr,1,0\r\nr,10,0\r\n")
    lines = [json.dumps({"device": each, "batch": {}}, separators=(",", ":")) for each in (MINE, OTHER)]
    (folder / "spool.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def a_batch(device: str) -> ClientBatch:
    sample = {"id": "e.1", "transport": "sse", "due_us": 1, "sent_us": 2, "state": "ok", "outcome": "on_time"}
    return ClientBatch(
        device=device, batch_id="batch-0001", received_us=3, run=RUN, trial=0, samples=(sample,)
    )


def rows(folder: Path, statement: str) -> list[tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(folder / FILE_NAME)) as database:
        return database.execute(statement).fetchall()


def test_everything_of_the_device_is_gone_and_nothing_of_the_others(tmp_path: Path) -> None:
    folder = an_experiment(tmp_path)

    removal = forget_device(tmp_path, MINE)

    assert removal.rows == DeletedRows(batches=1, samples=1, deliveries=2)
    assert (removal.runs, removal.results, removal.spooled, removal.failed) == ([RUN], 1, 1, [])
    assert not [
        path.name for path in folder.rglob("*") if path.is_file() and MINE.encode() in path.read_bytes()
    ]
    assert "Siti" not in (folder / "participants.json").read_text()
    assert "Budi" in (folder / "participants.json").read_text()
    assert [path.name for path in (folder / "results").iterdir()] == ["other.json"]
    for name in ("deliveries.csv", "clients.csv"):
        with (folder / name).open(newline="") as file:
            assert [row[1] for row in csv.reader(file)] == ["client", "1", "10"]
    assert rows(folder, "SELECT DISTINCT client FROM delivery") == [(1,)]
    assert rows(folder, "SELECT client FROM conduct") == [(1,)]
    assert rows(folder, "SELECT device FROM client_batch") == [(OTHER,)]
    assert rows(folder, "SELECT count(*) FROM client_sample") == [(1,)]


def test_a_request_after_the_names_are_gone_still_deletes_everything(tmp_path: Path) -> None:
    folder = an_experiment(tmp_path)
    make_old(folder, days=31)
    assert retention.sweep(tmp_path, days=30).nameless == (RUN,)
    assert not {"Siti", "Budi"} & set((folder / "participants.json").read_text().split('"'))

    removal = forget_device(tmp_path, MINE)

    assert removal.rows == DeletedRows(batches=1, samples=1, deliveries=2)
    assert (removal.runs, removal.results, removal.failed) == ([RUN], 1, [])
    assert rows(folder, "SELECT DISTINCT client FROM delivery") == [(1,)]
    assert rows(folder, "SELECT client FROM conduct") == [(1,)]
    assert not [
        path.name for path in folder.rglob("*") if path.is_file() and MINE.encode() in path.read_bytes()
    ]


def test_the_store_is_append_only_again_afterwards(tmp_path: Path) -> None:
    folder = an_experiment(tmp_path)
    forget_device(tmp_path, MINE)

    with contextlib.closing(sqlite3.connect(folder / FILE_NAME)) as database:
        for table in ("delivery", "client_sample", "conduct"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                database.execute(f"DELETE FROM {table}")


def test_the_spool_keeps_its_length_since_places_in_it_are_noted(tmp_path: Path) -> None:
    folder = an_experiment(tmp_path)
    before = (folder / "spool.jsonl").read_bytes()

    forget_device(tmp_path, MINE)

    after = (folder / "spool.jsonl").read_bytes()
    assert len(after) == len(before)
    assert [bool(line.strip()) for line in after.splitlines()] == [False, True]


def test_a_run_says_how_many_had_themselves_deleted(tmp_path: Path) -> None:
    folder = an_experiment(tmp_path)
    assert removed_count(folder) == 0

    forget_device(tmp_path, MINE)
    forget_device(tmp_path, MINE)
    forget_device(tmp_path, OTHER)

    assert removed_count(folder) == 2


def test_the_trash_is_looked_through_too(tmp_path: Path) -> None:
    folder = an_experiment(tmp_path / ".trash")

    forget_device(tmp_path, MINE)

    assert rows(folder, "SELECT device FROM client_batch") == [(OTHER,)]


def test_a_stranger_changes_nothing(tmp_path: Path) -> None:
    folder = an_experiment(tmp_path)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    removal = forget_device(tmp_path, "d-00000000000000cc")

    assert (removal.runs, removal.rows) == ([], DeletedRows())
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("device", [MINE, "d-00000000000000cc"], ids=["a participant", "a stranger"])
def test_a_deletion_does_not_change_the_age_of_a_run(tmp_path: Path, device: str) -> None:
    """Or the names of all others, and what is in the trash, would be kept for another month or week."""
    kept, thrown = an_experiment(tmp_path), an_experiment(tmp_path / ".trash", "thrown")
    (thrown / TRASH_MARK_FILE).write_bytes(TRASH_MARK)
    for folder in (kept, thrown):
        make_old(folder, days=31)

    forget_device(tmp_path, device)

    swept = retention.sweep(tmp_path, days=30)
    assert (swept.nameless, swept.purged) == ((RUN,), ("thrown",))


def test_a_class_that_leaves_at_once_makes_no_run_younger_either(tmp_path: Path) -> None:
    """Each looks through all runs: what one has touched would be as old as that to the next."""
    make_old(an_experiment(tmp_path), days=31)

    with ThreadPoolExecutor(CLASS_COUNT) as pool:
        list(pool.map(lambda number: forget_device(tmp_path, f"d-{number:016x}"), range(5 * CLASS_COUNT)))

    assert retention.sweep(tmp_path, days=30).nameless == (RUN,)


def test_a_run_that_cannot_be_written_is_named_and_the_others_are_done(tmp_path: Path) -> None:
    an_experiment(tmp_path, "damaged")
    (tmp_path / "damaged" / "participants.json").write_text("{")
    whole = an_experiment(tmp_path)

    removal = forget_device(tmp_path, MINE)

    assert removal.failed == ["damaged"]
    assert rows(whole, "SELECT device FROM client_batch") == [(OTHER,)]


def test_a_table_that_cannot_be_read_stays_as_it_is_and_leaves_no_draft(tmp_path: Path) -> None:
    folder = an_experiment(tmp_path)
    before = "client,seq\r\n1,0\r\n0," + "9" * (csv.field_size_limit() + 1) + "\r\n"
    (folder / "deliveries.csv").write_text(before, newline="")

    removal = forget_device(tmp_path, MINE)

    assert removal.failed == [RUN]
    assert (folder / "deliveries.csv").read_bytes() == before.encode()
    assert not list(folder.glob(".*"))


def test_a_rewritten_table_keeps_its_permissions(tmp_path: Path) -> None:
    folder = an_experiment(tmp_path)
    (folder / "deliveries.csv").chmod(0o600)

    forget_device(tmp_path, MINE)

    assert (folder / "deliveries.csv").stat().st_mode & 0o777 == 0o600


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    outside = an_experiment(tmp_path / "outside")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "linked").symlink_to(outside)

    assert forget_device(tmp_path / "runs", MINE).runs == []
    assert rows(outside, "SELECT count(*) FROM client_batch") == [(2,)]


def test_a_store_that_is_no_store_is_an_error_and_not_a_silence(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"no database at all, and long enough to tell" * 10)

    with pytest.raises(StoreError):
        delete_device_rows(tmp_path / FILE_NAME, MINE, None)


def test_a_class_that_leaves_at_once_is_forgotten_to_the_last_phone(tmp_path: Path) -> None:
    """Each rewrites the same list of names: what one read before the other wrote would bring the other's name back."""
    folder = an_experiment(tmp_path)
    devices = [f"d-{number:016x}" for number in range(CLASS_COUNT)]
    participants = [
        {"client": client, "device": device, "name": f"Name {client}"}
        for client, device in enumerate(devices)
    ]
    (folder / "participants.json").write_text(json.dumps({"participants": participants}))
    (folder / "deliveries.csv").write_text(
        "client,seq\r\n"
        + "".join(f"{client},{seq}\r\n" for client in range(CLASS_COUNT) for seq in range(500))
    )

    with ThreadPoolExecutor(CLASS_COUNT) as pool:
        removals = list(pool.map(lambda device: forget_device(tmp_path, device), devices))

    assert [each.failed for each in removals] == [[]] * CLASS_COUNT
    assert json.loads((folder / "participants.json").read_text())["participants"] == []
    assert removed_count(folder) == CLASS_COUNT
    assert (folder / "deliveries.csv").read_text().split() == ["client,seq"]


def test_what_the_phone_said_of_its_device_is_gone_from_result_report_and_store(tmp_path: Path) -> None:
    folder = an_experiment(tmp_path)
    with Store.open(folder) as store:
        write_all(analyse(store.load()), folder)
    assert all(word in (folder / "report.html").read_text() for word in ("Nokia &lt;3310&gt;", "Pixel 7"))

    removal = forget_device(tmp_path, MINE)

    assert removal.failed == []
    for path in (folder / name for name in ("report.html", "result.json", FILE_NAME)):
        assert b"Nokia" not in path.read_bytes(), path.name
        assert b"Browser 0" not in path.read_bytes(), path.name
        assert b"Pixel 7" in path.read_bytes(), path.name
    conditions = json.loads((folder / "result.json").read_text())["conditions"]
    assert conditions["participants"][0] == {"client": 0, "pseudonym": "P1"}
    assert conditions["cores"] == 2
    with Store.open(folder) as store:
        assert store.load().conditions["participants"] == conditions["participants"]
