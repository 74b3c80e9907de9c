"""Runs on disk: listed whatever is in the folder, deleted with undo, exported without anybody's identity."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sqlite3
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from app import clock
from app.core.errors import Conflict, StoreError, Unknown
from app.core.sentence import Sentence
from app.i18n import LANGUAGES, REFUSAL, in_language
from app.lab.report.exchange.importer import FILE_BYTES_MAX
from app.store.archive import retention, sweep_process
from app.store.archive.export import LINES_BYTES, TEXT_BYTES_MAX, Pseudonyms, export
from app.store.archive.folders import folder_of, read_file, replace_file
from app.store.archive.run_index import RunIndex
from app.store.archive.summary import TEXT_CHARS_MAX
from app.store.archive.trash import DAY_S, KEPT_DAYS, Trash
from app.store.run_folder import make_folder
from app.store.store import RunHead, Store
from tests.support.stored_run import DEVICES, LAN_ADDRESS, NAMES, store_run
from tests.unit.support_run import a_plan

RUN = "2026-01-01T00-00-00-0001"


def make_old(folder: Path, *, days: float) -> None:
    """As if nothing had been written for so long."""
    for path in [*folder.rglob("*"), folder]:
        found = path.stat()
        os.utime(path, (found.st_atime - days * DAY_S, found.st_mtime - days * DAY_S))


def test_a_finished_run_is_one_line(tmp_path: Path) -> None:
    store_run(tmp_path, RUN)

    (line,) = RunIndex(tmp_path).newest()

    assert (line.id, line.state, line.complete, line.simulated) == (RUN, "complete", True, False)
    assert (line.phones, line.profile, line.started) == (2, "demo", "2026-01-01T00:00:00Z")
    assert line.verdict
    assert "2 " in line.verdict.sentence_en
    assert "2 ponsel" in (line.verdict.sentence_id or "")


def test_a_run_without_a_result_is_incomplete_and_one_without_a_store_damaged(tmp_path: Path) -> None:
    (store_run(tmp_path, RUN) / "result.json").unlink()
    (tmp_path / "2026-01-01T00-00-00-0002").mkdir()
    (tmp_path / "live-2026-01-02T03-04-05-abcd").mkdir()

    found = {each.id: each for each in RunIndex(tmp_path).newest()}

    assert found[RUN].state == "incomplete"
    assert found["2026-01-01T00-00-00-0002"].state == "damaged"
    assert "run.sqlite" in (found["2026-01-01T00-00-00-0002"].problem or "")
    assert str(tmp_path) not in (found["2026-01-01T00-00-00-0002"].problem or "")
    assert found["live-2026-01-02T03-04-05-abcd"].state == "live"
    assert found["live-2026-01-02T03-04-05-abcd"].started == "2026-01-02T03:04:05Z"


def test_the_newest_come_first_and_no_more_than_are_asked_for(tmp_path: Path) -> None:
    names = ["2026-01-01T00-00-00-0001", "live-2026-01-02T00-00-00-0002", "2026-01-03T00-00-00-0003"]
    for name in names:
        (tmp_path / name).mkdir()

    assert [each.id for each in RunIndex(tmp_path).newest()] == names[::-1]
    assert [each.id for each in RunIndex(tmp_path).newest(1)] == names[-1:]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{" * 100_000,
        '{"run": {"started": 7}}',
        '{"run":{"started":"x","complete":true,"simulated":true},"plan":{},"comparison":[],"conditions":{}}',
        "\udcff",
    ],
)
def test_a_result_that_is_none_makes_a_damaged_run_and_no_failure(tmp_path: Path, text: str) -> None:
    (tmp_path / RUN).mkdir()
    (tmp_path / RUN / "result.json").write_bytes(text.encode(errors="surrogateescape"))

    (line,) = RunIndex(tmp_path).newest()

    assert line.state == "damaged"


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("result.json", b"{", "run_result_damaged"),
        ("run.sqlite", b"no database, whatever it is called", "run_database_damaged"),
        ("notes.txt", b"", "run_database_missing"),
    ],
)
def test_what_is_wrong_with_a_damaged_run_has_a_code_and_tells_no_path(
    tmp_path: Path, name: str, content: bytes, code: str
) -> None:
    (tmp_path / RUN).mkdir()
    (tmp_path / RUN / name).write_bytes(content)

    (line,) = RunIndex(tmp_path).newest()

    assert isinstance(line.problem, Sentence)
    assert line.problem.code == REFUSAL + code
    for language in LANGUAGES:
        assert str(tmp_path) not in in_language(language, line.problem)


def test_what_a_hostile_result_says_is_cut(tmp_path: Path) -> None:
    (tmp_path / RUN).mkdir()
    long = "x" * 1_000_000
    result = {
        "run": {"started": long, "complete": True, "simulated": False},
        "plan": {"profile": long},
        "comparison": [{"family": "confirmatory", "clients": 1, "text": long}],
        "conditions": {"participants": [{}] * 3},
    }
    (tmp_path / RUN / "result.json").write_text(json.dumps(result))

    (line,) = RunIndex(tmp_path).newest()

    assert line.verdict
    texts = (line.started, line.profile, line.verdict.sentence_en)
    assert {len(each or "") for each in texts} == {TEXT_CHARS_MAX}


def test_links_pipes_and_strange_names_are_no_runs(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    store_run(elsewhere, RUN)
    runs = tmp_path / "runs"
    (runs / ".trash").mkdir(parents=True)
    (runs / "a b").mkdir()
    (runs / "linked").symlink_to(elsewhere / RUN)
    (runs / "file").write_text("no folder")
    (runs / "piped").mkdir()
    os.mkfifo(runs / "piped" / "result.json")
    (runs / "lured").mkdir()
    (runs / "lured" / "result.json").symlink_to(elsewhere / RUN / "result.json")

    found = {each.id: each.state for each in RunIndex(runs).newest()}

    assert found == {"piped": "damaged", "lured": "damaged"}
    with pytest.raises(Unknown):
        folder_of(runs, "linked")
    with pytest.raises(StoreError, match="link"):
        read_file(runs / "lured" / "result.json", bytes_max=1000)
    with pytest.raises(StoreError):
        read_file(runs / "piped" / "result.json", bytes_max=1000)


@pytest.mark.parametrize(
    "run", ["", ".", "..", "../runs", "a/b", "/etc", ".trash", "a\0b", "x" * 65, "-rf", "a\n"]
)
def test_no_id_leads_anywhere_else(tmp_path: Path, run: str) -> None:
    for use in (Trash(tmp_path).add, Trash(tmp_path).restore, RunIndex(tmp_path).one):
        with pytest.raises(Unknown):
            use(run)


def test_a_file_that_several_replace_at_once_is_one_of_theirs_whole(tmp_path: Path) -> None:
    """A phone that posts twice is answered by two threads, and they have one process's number."""
    path = tmp_path / "record.json"
    texts = [letter * length for letter, length in zip("abcd", (300_000, 200_000, 100_000, 1), strict=True)]

    with ThreadPoolExecutor(len(texts)) as pool:
        for _ in range(20):
            list(pool.map(lambda text: replace_file(path, text), texts))
            assert path.read_text() in texts

    assert [each.name for each in tmp_path.iterdir()] == ["record.json"]


def test_a_run_that_changed_is_read_again(tmp_path: Path) -> None:
    folder = store_run(tmp_path, RUN)
    shelf = RunIndex(tmp_path)
    assert shelf.one(RUN).complete
    result = json.loads((folder / "result.json").read_text())
    result["run"]["complete"] = False
    (folder / "result.json").write_text(json.dumps(result))

    assert shelf.one(RUN).state == "incomplete"


def test_a_deleted_run_can_be_brought_back_whole(tmp_path: Path) -> None:
    folder = store_run(tmp_path, RUN)
    before = sorted(path.name for path in folder.rglob("*"))
    trash, shelf = Trash(tmp_path), RunIndex(tmp_path)

    trash.add(RUN)
    assert shelf.newest() == []
    with pytest.raises(Unknown):
        trash.add(RUN)

    trash.restore(RUN)
    assert [each.id for each in shelf.newest()] == [RUN]
    assert sorted(path.name for path in folder.rglob("*")) == before
    with pytest.raises(Unknown):
        trash.restore(RUN)


def test_neither_deleting_nor_bringing_back_overwrites_a_run(tmp_path: Path) -> None:
    trash = Trash(tmp_path)
    store_run(tmp_path, RUN)
    trash.add(RUN)
    store_run(tmp_path, RUN)

    with pytest.raises(Conflict):
        trash.restore(RUN)
    with pytest.raises(Conflict):
        trash.add(RUN)


def test_a_run_that_is_being_written_is_not_deleted(tmp_path: Path) -> None:
    folder = store_run(tmp_path, RUN)
    (folder / "result.json").unlink()

    with pytest.raises(Conflict, match="being written"):
        Trash(tmp_path).add(RUN)
    make_old(folder, days=1)
    Trash(tmp_path).add(RUN)


def test_a_run_whose_runner_holds_it_open_is_not_deleted_however_long_its_trials_take(tmp_path: Path) -> None:
    head = RunHead(RUN, "2026-01-01T00:00:00Z", a_plan(), {}, simulated=True)
    with Store.create(tmp_path / RUN, head):
        make_old(tmp_path / RUN, days=1)

        with pytest.raises(Conflict, match="being written"):
            Trash(tmp_path).add(RUN)

    make_old(tmp_path / RUN, days=1)
    Trash(tmp_path).add(RUN)


def test_a_run_whose_runner_died_is_deleted(tmp_path: Path) -> None:
    alive, dead = tmp_path / "alive", tmp_path / RUN
    head = RunHead(RUN, "2026-01-01T00:00:00Z", a_plan(), {}, simulated=True)
    with Store.create(alive, head):
        shutil.copytree(alive, dead)  # With the log that a dead writer leaves, and without its locks.
    assert (dead / "run.sqlite-wal").exists()
    make_old(dead, days=1)

    Trash(tmp_path).add(RUN)

    Trash(tmp_path).restore(RUN)
    with Store.open(dead) as store:
        assert store.load().id == RUN


def test_the_trash_is_emptied_after_a_week_and_not_before(tmp_path: Path) -> None:
    trash = Trash(tmp_path)
    make_old(store_run(tmp_path, RUN), days=400)
    trash.add(RUN)
    assert trash.purge() == [], "its days count from when it was thrown away"

    make_old(tmp_path / ".trash" / RUN, days=KEPT_DAYS + 1)
    assert trash.purge() == [RUN]
    assert not (tmp_path / ".trash" / RUN).exists()


def test_after_its_days_live_runs_go_and_experiments_lose_their_names_only(tmp_path: Path) -> None:
    live, now, fresh = (
        "live-2026-01-01T00-00-00-0002",
        "live-2026-01-01T00-00-00-0003",
        "2026-02-01T00-00-00-0004",
    )
    experiment = store_run(tmp_path, RUN)
    for name in (live, now):
        make_folder(tmp_path / name)
    for folder in (experiment, tmp_path / live, tmp_path / now):
        make_old(folder, days=31)
    store_run(tmp_path, fresh)

    swept = retention.sweep(tmp_path, days=30, keep=now)

    assert (swept.trashed, swept.nameless, swept.purged) == ((live,), (RUN,), ())
    assert not [name for name in NAMES if name in (experiment / "participants.json").read_text()]
    assert (tmp_path / fresh / "participants.json").exists()
    assert RunIndex(tmp_path).one(RUN).complete
    assert (tmp_path / now).exists()
    assert retention.old_runs(tmp_path, days=30) == [RUN, now], "nobody's names make a run any younger"
    assert retention.sweep(tmp_path, days=30, keep=now).nameless == (), "what is gone is not deleted again"


def test_a_clock_a_month_ahead_costs_names_but_what_is_thrown_outlives_the_sweep(tmp_path: Path) -> None:
    """The server came up so, and was put right while its sweep ran: files bear other times than the sweep believes."""
    live = "live-2026-01-01T00-00-00-0002"
    experiment = store_run(tmp_path, RUN)
    make_folder(tmp_path / live)
    make_old(experiment, days=1)
    make_old(tmp_path / live, days=1)
    anchor_us, timebase = clock.anchor_us(), clock.timebase()

    clock.fix(anchor_us=anchor_us + 31 * 86_400_000_000, timebase="ahead")
    try:
        swept = retention.sweep(tmp_path, days=30)
    finally:
        clock.fix(anchor_us=anchor_us, timebase=timebase)

    assert (swept.trashed, swept.nameless, swept.purged) == ((live,), (RUN,), ())
    Trash(tmp_path).restore(live)
    assert (tmp_path / live).is_dir()


def test_a_sweep_that_cannot_look_says_so_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(runs_dir: Path, *, days: float, keep: str) -> retention.Swept:
        raise PermissionError(
            errno.EACCES, f"Permission denied for {days:g} days, all but {keep}", str(runs_dir)
        )

    monkeypatch.setattr(sweep_process, "sweep", refused)
    monkeypatch.setattr("sys.argv", ["sweep", "--runs-dir", str(tmp_path), "--days", "30", "--keep", RUN])

    assert sweep_process.main() == 1

    said = f"siar: Old runs could not be looked through: Permission denied for 30 days, all but {RUN}.\n"
    assert capsys.readouterr() == ("", said)


@pytest.mark.parametrize("content", ["{", "[]", '{"participants": [{"name": "Red Gecko"}]}'])
def test_names_in_a_damaged_file_go_with_it(tmp_path: Path, content: str) -> None:
    folder = tmp_path / RUN
    make_folder(folder)
    (folder / "participants.json").write_text(content)
    make_old(folder, days=31)

    assert retention.sweep(tmp_path, days=30).nameless == (RUN,)

    assert not (folder / "participants.json").exists()


def test_an_export_holds_no_identity_and_every_figure(tmp_path: Path) -> None:
    folder = store_run(tmp_path / "runs", RUN)

    with export(folder) as file, zipfile.ZipFile(file) as packed:
        names = sorted(name.removeprefix(f"{RUN}/") for name in packed.namelist())
        packed.extractall(tmp_path / "unpacked")

    unpacked = tmp_path / "unpacked" / RUN
    assert names == [
        "README.txt",
        "clients.csv",
        "deliveries.csv",
        "report.html",
        "result.json",
        "run.sqlite",
        "trials.csv",
    ]
    for path in unpacked.iterdir():
        for secret in (*DEVICES, *NAMES, LAN_ADDRESS):
            assert secret.encode() not in path.read_bytes(), f"{secret} is in {path.name}"
    with Store.open(unpacked) as exported, Store.open(folder) as stored:
        after, before = exported.load(), stored.load()
    assert [replace(each, instrument=None) for each in after.trials] == [
        replace(each, instrument=None) for each in before.trials
    ]
    assert replace(after, trials=()) == replace(before, trials=())
    recorded = after.trials[0].instrument
    assert recorded is not None
    assert [each.address for each in recorded.connections] == ["", "127.0.0.1"]


def test_an_exported_store_names_devices_by_pseudonym_and_is_still_append_only(tmp_path: Path) -> None:
    folder = store_run(tmp_path, RUN)
    with export(folder) as file, zipfile.ZipFile(file) as packed:
        path = Path(packed.extract(f"{RUN}/run.sqlite", tmp_path / "unpacked"))

    database = sqlite3.connect(path)
    try:
        assert {row[0] for row in database.execute("SELECT device FROM client_batch")} == {"P1", "P2"}
        with pytest.raises(sqlite3.DatabaseError, match="append-only"):
            database.execute("UPDATE client_batch SET device = 'x'")
    finally:
        database.close()


def test_what_lies_in_a_run_s_folder_by_chance_is_not_exported(tmp_path: Path) -> None:
    folder = store_run(tmp_path, RUN)
    (folder / "passwords.txt").write_text("secret")
    (folder / "trials.csv").unlink()
    (folder / "trials.csv").symlink_to("/etc/passwd")

    with pytest.raises(StoreError, match="link"):
        export(folder)
    (folder / "trials.csv").unlink()
    with export(folder) as file, zipfile.ZipFile(file) as packed:
        assert not any("passwords" in name or "trials.csv" in name for name in packed.namelist())


def test_a_table_that_is_packed_in_many_parts_is_exported_whole(tmp_path: Path) -> None:
    folder = store_run(tmp_path, RUN)
    row = ",".join([DEVICES[0], "9" * 1000])
    row_count = 3 * LINES_BYTES // len(row)
    (folder / "deliveries.csv").write_text(f"{row}\n" * row_count + row)

    with export(folder) as file, zipfile.ZipFile(file) as packed:
        found = packed.read(f"{RUN}/deliveries.csv").decode().splitlines()

    assert found == [row.replace(DEVICES[0], "P1")] * (row_count + 1)


def test_as_large_a_file_is_exported_as_is_imported() -> None:
    assert TEXT_BYTES_MAX == FILE_BYTES_MAX


def test_a_run_that_holds_nothing_cannot_be_exported(tmp_path: Path) -> None:
    (tmp_path / RUN).mkdir()

    with pytest.raises(Unknown):
        export(tmp_path / RUN)


def test_a_device_has_one_pseudonym_and_what_only_looks_like_one_has_none() -> None:
    pseudonyms = Pseudonyms({DEVICES[0]: "P1"})

    text = pseudonyms.apply(f"{DEVICES[0]} _{DEVICES[1]}_ {DEVICES[1]} d-0123 and-0123456789abcdef")

    assert text == "P1 _device-2_ device-2 d-0123 and-0123456789abcdef"
