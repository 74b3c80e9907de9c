"""A run goes out without what names anybody, and comes in only if it is one."""

import contextlib
import json
import shutil
import socket
import sqlite3
import stat
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from app.cli import main as cli
from app.core.errors import Conflict, StoreError, Unknown
from app.lab.report.data.csv_files import DELIVERY_COLUMNS, TRIAL_COLUMNS
from app.lab.report.exchange.exporter import columns, export_folder, export_zip, unit_of
from app.lab.report.exchange.importer import import_run
from tests.unit.support_run import RunMaker, a_plan, store_run

SECRETS = ("hunter2", "192.168.7.9", "attic.example", "tok-abcdef", "somebody")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose conditions say more than they should."""
    made = RunMaker(a_plan(client_counts=(1,), blocks=3, notifications=4)).run()
    plan = replace(
        made.plan,
        arms=tuple(
            replace(arm, factors={"via": "http://op:hunter2@attic.example:81/"}) for arm in made.plan.arms
        ),
    )
    conditions = {
        **made.conditions,
        "settings": {"ADMIN_TOKEN": "tok-abcdef", "broker": "sqlite:////home/somebody/x.db"},
        "server": {"url": "http://192.168.7.9:5000", "node": socket.gethostname()},
        "python": "3.11.7",
    }
    trials = tuple(
        replace(each, spec=replace(each.spec, arm=next(a for a in plan.arms if a.name == each.spec.arm.name)))
        for each in made.trials
    )
    folder = store_run(
        replace(made, plan=plan, conditions=conditions, trials=trials), tmp_path_factory.mktemp("runs")
    )
    (folder / "participants.json").write_text('{"participants": [{"name": "somebody"}]}')
    (folder / "spool.jsonl").write_text("tok-abcdef\n")
    return folder


@pytest.fixture(scope="module")
def packed(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export_zip(run, tmp_path_factory.mktemp("out") / "run.zip")


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as packed:
        return {name.rpartition("/")[2]: packed.read(name) for name in packed.namelist()}


def repacked(source: Path, target: Path, **changes: bytes | None) -> Path:
    """The archive with members changed, added or (`None`) left out."""
    found: dict[str, bytes | None] = {**members(source), **changes}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in found.items():
            if content is not None:
                packed.writestr(f"run/{name}", content)
    return target


def test_nothing_that_names_a_machine_or_a_person_is_in_any_byte_that_leaves(packed: Path) -> None:
    for name, content in members(packed).items():
        for secret in SECRETS:
            assert secret.encode() not in content, f"{secret} is in {name}"
    assert json.loads(members(packed)["result.json"])["conditions"]["server"]["node"].startswith("host-")
    assert "participants.json" not in members(packed)
    assert "spool.jsonl" not in members(packed)


def test_the_manifest_has_hashes_seed_versions_and_every_column_with_its_unit(packed: Path) -> None:
    manifest = json.loads(members(packed)["manifest.json"])

    assert manifest["seed"] == 7
    assert manifest["versions"]["python"] == "3.11.7"
    assert {each["name"] for each in manifest["files"]} == set(members(packed)) - {"manifest.json"}
    assert [each["name"] for each in manifest["columns"]["trials.csv"]] == list(TRIAL_COLUMNS)
    assert manifest["columns"]["deliveries.csv"] == columns(DELIVERY_COLUMNS)
    assert manifest["replaced"]["password"] >= 1


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("due_us", "microseconds"),
        ("delay_ms_p50", "milliseconds"),
        ("rss_bytes", "bytes"),
        ("cpu_per_delivery_us", "microseconds"),
        ("cpu_core_percent", "percent"),
        ("cpu_delta_points", "percentage points"),
        ("wire_bytes_per_notification", "bytes"),
        ("first_byte_ms_p50", "milliseconds"),
        ("lost", None),
        ("arm", None),
    ],
)
def test_a_columns_unit_is_in_its_name(name: str, unit: str | None) -> None:
    assert unit_of(name) == unit


def test_the_same_run_gives_the_same_bytes(run: Path, packed: Path, tmp_path: Path) -> None:
    again = export_zip(run, tmp_path / "again.zip")

    assert again.read_bytes() == packed.read_bytes()
    with pytest.raises(Conflict, match="exists already"):
        export_zip(run, again)


@pytest.mark.parametrize("form", ["zip", "folder"])
def test_what_was_exported_is_imported_and_verified_elsewhere(
    run: Path,
    tmp_path: Path,
    form: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SIAR_RUNS_DIR", str(tmp_path / "elsewhere"))
    out = str(tmp_path / "out")

    assert cli.main(["export", str(run), "--format", form, "--output", out]) == 0
    assert cli.main(["import", out]) == 0
    assert cli.main(["verify", run.name]) == 0

    assert "every figure comes out again" in capsys.readouterr().out
    assert (tmp_path / "elsewhere" / run.name / "report.html").is_file()
    assert cli.main(["import", out]) == 1
    assert "is here already" in capsys.readouterr().err


def test_a_page_from_a_stranger_is_never_taken_over(packed: Path, tmp_path: Path) -> None:
    hostile = repacked(packed, tmp_path / "x.zip", **{"report.html": b"<script>alert(1)</script>"})

    folder, has_manifest = import_run(hostile, tmp_path / "runs")

    assert has_manifest
    assert "<script" not in (folder / "report.html").read_text()


def with_sql(content: bytes, folder: Path, *statements: str) -> bytes:
    path = folder / "changed.sqlite"
    path.write_bytes(content)
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        for statement in statements:
            database.execute(statement)
    return path.read_bytes()


BAD: dict[str, tuple[Callable[[dict[str, bytes], Path], dict[str, bytes | None]], str]] = {
    "no database": (lambda _m, _p: {"run.sqlite": None}, "has no run.sqlite"),
    "a foreign file": (lambda _m, _p: {"setup.py": b"x"}, "which no export has"),
    "a changed result": (lambda _m, _p: {"result.json": b"{}"}, "changed or damaged"),
    "a missing result": (lambda _m, _p: {"result.json": None}, "is missing"),
    "a damaged manifest": (lambda _m, _p: {"manifest.json": b"{"}, "is damaged"),
    "a list for a manifest": (lambda _m, _p: {"manifest.json": b"[]"}, "is damaged"),
    "a manifest of the future": (
        lambda m, _p: {"manifest.json": m["manifest.json"].replace(b'"schema": 1', b'"schema": 9')},
        "use a newer one",
    ),
    "a truncated database": (
        lambda m, _p: {"run.sqlite": m["run.sqlite"][:9000], "manifest.json": None},
        "damaged",
    ),
    "no database at all": (lambda _m, _p: {"run.sqlite": b"hello", "manifest.json": None}, "damaged"),
    "a foreign database": (
        lambda m, p: {
            "run.sqlite": with_sql(m["run.sqlite"], p, "PRAGMA application_id = 1"),
            "manifest.json": None,
        },
        "not a database of Siar",
    ),
    "a database of the future": (
        lambda m, p: {
            "run.sqlite": with_sql(m["run.sqlite"], p, "PRAGMA user_version = 99"),
            "manifest.json": None,
        },
        "use a newer one",
    ),
    "a view": (
        lambda m, p: {
            "run.sqlite": with_sql(m["run.sqlite"], p, "CREATE VIEW spy AS SELECT 1"),
            "manifest.json": None,
        },
        "other tables than a run",
    ),
    "a run that is called like a path": (
        lambda m, p: {
            "run.sqlite": with_sql(
                m["run.sqlite"],
                p,
                "DROP TRIGGER run_no_update",
                "UPDATE run SET id = '../../evil'",
                *guard(m["run.sqlite"], p),
            ),
            "manifest.json": None,
        },
        "is no name for a run",
    ),
}


def guard(content: bytes, folder: Path) -> list[str]:
    """What makes the dropped guard again, so that only the id gives it away."""
    path = folder / "model.sqlite"
    path.write_bytes(content)
    with contextlib.closing(sqlite3.connect(path)) as database:
        return [
            row[0] for row in database.execute("SELECT sql FROM sqlite_schema WHERE name = 'run_no_update'")
        ]


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_run_is_refused_in_a_sentence_and_leaves_nothing(
    name: str, packed: Path, tmp_path: Path
) -> None:
    change, sentence = BAD[name]
    hostile = repacked(packed, tmp_path / "x.zip", **change(members(packed), tmp_path))

    with pytest.raises(StoreError, match=sentence):
        import_run(hostile, tmp_path / "runs")

    assert list((tmp_path / "runs").iterdir()) == []
    assert not (tmp_path / "evil").exists()


def with_table(content: bytes, folder: Path, old: str, new: str) -> bytes:
    """The database with `old` in the SQL of table `delivery` replaced; that of the file itself, which SQLite then reads."""
    path = folder / "rewritten.sqlite"
    path.write_bytes(content)
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        found = database.execute("SELECT sql FROM sqlite_schema WHERE name = 'delivery'").fetchone()[0]
        assert old in found
        database.execute("PRAGMA writable_schema = ON")
        database.execute(
            "UPDATE sqlite_schema SET sql = ? WHERE name = 'delivery'", (found.replace(old, new, 1),)
        )
    return path.read_bytes()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("client INTEGER NOT NULL,", "client INTEGER NOT NULL, -- 'whose' it was, see app/old/place.py;\n"),
        ("client INTEGER NOT NULL,", 'client/* a "phone" -- */INTEGER\tNOT NULL\n,'),
    ],
)
def test_comments_and_white_space_of_another_version_do_not_matter(
    packed: Path, tmp_path: Path, old: str, new: str
) -> None:
    content = with_table(members(packed)["run.sqlite"], tmp_path, old, new)

    import_run(
        repacked(packed, tmp_path / "x.zip", **{"run.sqlite": content, "manifest.json": None}),
        tmp_path / "runs",
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("'visible'", "'visible -- not'"),
        ("'visible'", "'vis/**/ible'"),
        ("'visible'", "'visible '"),
        ("'visible'", '"visible"'),
        ("client INTEGER NOT NULL,", "client INTEGER NOT NULL CHECK (client >= 0),"),
        ("client INTEGER NOT NULL,", "client INTEGER /* NOT NULL */,"),
        ("client INTEGER NOT NULL,", "client INTEGER NOT NULL DEFAULT (random()),"),
        ("client INTEGER NOT NULL,", "[client] INTEGER NOT NULL,"),
        ("client INTEGER NOT NULL,", "client INTEGER\u00a0NOT NULL,"),
        ("'visible'", "'visible') -- \0"),
    ],
)
def test_a_table_that_is_only_nearly_a_runs_is_refused(
    packed: Path, tmp_path: Path, old: str, new: str
) -> None:
    content = with_table(members(packed)["run.sqlite"], tmp_path, old, new)
    hostile = repacked(packed, tmp_path / "x.zip", **{"run.sqlite": content, "manifest.json": None})

    with pytest.raises(StoreError, match=r"other tables than a run|is damaged"):
        import_run(hostile, tmp_path / "runs")


@pytest.mark.parametrize("path", ["../evil", "/evil", "run/../../evil", "run/deep/run.sqlite", "C:\\evil\\x"])
def test_a_path_that_leads_elsewhere_is_refused(path: str, packed: Path, tmp_path: Path) -> None:
    hostile = repacked(packed, tmp_path / "x.zip")
    with zipfile.ZipFile(hostile, "a") as more:
        more.writestr(path, "x")

    with pytest.raises(StoreError, match="nothing was imported"):
        import_run(hostile, tmp_path / "runs")

    assert not (tmp_path / "evil").exists()


def test_a_link_in_a_zip_is_refused(packed: Path, tmp_path: Path) -> None:
    hostile = repacked(packed, tmp_path / "x.zip", **{"result.json": None})
    link = zipfile.ZipInfo("run/result.json")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(hostile, "a") as more:
        more.writestr(link, "/etc/passwd")

    with pytest.raises(StoreError, match="link"):
        import_run(hostile, tmp_path / "runs")


def test_a_link_in_a_folder_is_refused(run: Path, tmp_path: Path) -> None:
    folder = export_folder(run, tmp_path / "out")
    (folder / "result.json").unlink()
    (folder / "result.json").symlink_to("/etc/passwd")

    with pytest.raises(StoreError, match="link"):
        import_run(folder, tmp_path / "runs")


def test_a_bomb_is_refused_before_it_unpacks(packed: Path, tmp_path: Path) -> None:
    hostile = repacked(packed, tmp_path / "x.zip", **{"deliveries.csv": b"0" * 40_000_000})

    with pytest.raises(StoreError, match="unpacks to more than 200 times"):
        import_run(hostile, tmp_path / "runs")


def test_a_member_that_is_longer_than_it_says_is_refused(packed: Path, tmp_path: Path) -> None:
    """Its size is in the zip's directory at the end; the bytes are whatever they are."""
    hostile = repacked(packed, tmp_path / "x.zip")
    content = bytearray(hostile.read_bytes())
    with zipfile.ZipFile(hostile) as found:
        size = found.getinfo("run/run.sqlite").file_size
    directory = content.rindex(b"run/run.sqlite") - 46
    content[directory + 24 : directory + 28] = (size - 100).to_bytes(4, "little")
    hostile.write_bytes(bytes(content))

    with pytest.raises(StoreError):
        import_run(hostile, tmp_path / "runs")

    assert list((tmp_path / "runs").iterdir()) == []


@pytest.mark.parametrize("cut", [0, 10, 500, -30])
def test_a_truncated_or_foreign_file_is_refused(cut: int, packed: Path, tmp_path: Path) -> None:
    broken = tmp_path / "x.zip"
    broken.write_bytes(packed.read_bytes()[:cut])

    with pytest.raises(StoreError, match="no intact zip"):
        import_run(broken, tmp_path / "runs")


def test_a_doubled_member_is_refused(packed: Path, tmp_path: Path) -> None:
    hostile = repacked(packed, tmp_path / "x.zip")
    with zipfile.ZipFile(hostile, "a") as more, pytest.warns(UserWarning, match="Duplicate"):
        more.writestr("run/result.json", "{}")

    with pytest.raises(StoreError, match="no export has"):
        import_run(hostile, tmp_path / "runs")


def test_what_is_not_there_and_what_has_no_manifest_is_said(packed: Path, tmp_path: Path) -> None:
    with pytest.raises(Unknown, match="no file or folder"):
        import_run(tmp_path / "none.zip", tmp_path / "runs")

    bare = repacked(packed, tmp_path / "bare.zip", **{"manifest.json": None})
    _, has_manifest = import_run(bare, tmp_path / "runs")
    assert not has_manifest


def test_an_id_that_is_taken_by_a_link_is_left_alone(run: Path, packed: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    (runs / run.name).symlink_to(tmp_path / "outside")

    with pytest.raises(Conflict):
        import_run(packed, runs)

    assert not (tmp_path / "outside").exists()
    shutil.rmtree(runs)
