"""Runs that earlier versions wrote open today, with the figures that those versions wrote.

The archives in `tests/vectors/runs` were made by the `./siar` of these commits, on an ordinary machine: `run` with `--clients 1,2`
(phones: two simulated ones, `--clients 2`) `--blocks 3 --notifications 10 --rate 20 --seed 7`, and `load --quick --users 5
--duration 5s --rate 4 --seed 7`; then `export`, which the first two did not have: theirs are zipped folders of runs.

    schema1         4e9e5a2c        schema4         f6077944        schema6         8eadecb9
    schema2         fd2647d0        schema4-load    f6077944        schema6-load    8eadecb9
    schema3-phones  13d112dd        schema5-phones  8fcdc687

A version that changes the schema adds archives of its own.
"""

import csv
import io
import json
import re
import sqlite3
import zipfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from app.cli import main as cli
from app.cli.verify import NOTES_OF_OTHER_LIMITS
from app.lab.report.exchange.importer import import_run
from app.store import schema
from app.store.store import FILE_NAME, Store
from tests.unit.support_run import store_run

ARCHIVES = sorted((Path(__file__).resolve().parents[1] / "vectors" / "runs").glob("*.zip"))


def schema_of(archive: Path) -> int:
    return int(re.findall(r"\d+", archive.stem)[0])


@pytest.fixture(params=ARCHIVES, ids=lambda archive: archive.stem)
def archive(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


@pytest.fixture
def folder(archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The imported run, in the folder of runs that commands use."""
    monkeypatch.setenv("SIAR_RUNS_DIR", str(tmp_path / "runs"))
    return import_run(archive, tmp_path / "runs")[0]


def written(archive: Path, name: str) -> str:
    with zipfile.ZipFile(archive) as packed:
        member = next(each for each in packed.namelist() if each.endswith(f"/{name}"))
        return packed.read(member).decode()


def version_of(database: Path) -> int:
    with closing(sqlite3.connect(database)) as found:
        version: int = found.execute("PRAGMA user_version").fetchone()[0]
        return version


def test_there_is_an_archive_of_every_schema() -> None:
    assert {schema_of(each) for each in ARCHIVES} == set(range(1, schema.VERSION + 1))


def test_its_figures_come_out_again(folder: Path, archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert version_of(folder / FILE_NAME) == schema_of(archive)

    assert cli.main(["verify", folder.name]) == 0

    assert "every figure comes out again" in capsys.readouterr().out


@pytest.mark.parametrize("language", ["en", "id"])
def test_its_report_is_drawn_in_both_languages(
    folder: Path, archive: Path, language: str, capsys: pytest.CaptureFixture[str]
) -> None:
    result = json.loads(written(archive, "result.json"))

    for form in ("text", "html", "md"):
        assert cli.main(["report", folder.name, "--format", form, "--language", language]) == 0
    said = capsys.readouterr().out

    for row in result["summary"]:
        median = f"{row['delay_ms_p50']:.3f}"
        assert (median if language == "en" else median.replace(".", ",")) in said
    if language == "en":
        for warning in result["warnings"]:
            assert warning["text"] in said or warning["code"] in NOTES_OF_OTHER_LIMITS


@pytest.mark.parametrize("table", ["trials.csv", "deliveries.csv"])
def test_its_tables_are_what_they_were(folder: Path, archive: Path, table: str) -> None:
    """A later version may add columns; those that were written come out again to the last digit.

    Notes whose limits were others are left out.
    """
    before = list(csv.DictReader(io.StringIO(written(archive, table))))
    after = list(csv.DictReader(io.StringIO((folder / table).read_text(encoding="utf-8"))))
    for row in before:
        if "warnings" in row:
            codes = row["warnings"].split()
            row["warnings"] = " ".join(code for code in codes if code not in NOTES_OF_OTHER_LIMITS)

    assert [{name: row[name] for name in before[0]} for row in after] == before


def test_a_new_run_of_the_same_trials_compares_equal(folder: Path, tmp_path: Path) -> None:
    """The same records, as the present version stores them: nothing of an older form is taken for something else."""
    with Store.open(folder) as store:
        record = store.load()
    new = store_run(replace(record, id="2027-01-01T00-00-00-0001"), tmp_path / "runs")
    found = tmp_path / "compared.json"

    assert cli.main(["compare", folder.name, new.name, "--json", str(found)]) == 0

    compared = json.loads(found.read_text(encoding="utf-8"))
    assert compared["rows"]
    assert {row["estimate"] for row in compared["rows"]} == {0.0}
    assert compared["settings"] == compared["objections"] == compared["regressions"] == []
    assert version_of(new / FILE_NAME) == schema.VERSION


def test_it_is_upgraded_and_leaves_and_comes_in_again(folder: Path, tmp_path: Path) -> None:
    Store.open(folder, write=True).close()
    out = tmp_path / "out.zip"

    assert version_of(folder / FILE_NAME) == schema.VERSION
    assert cli.main(["verify", folder.name]) == 0
    assert cli.main(["export", folder.name, "--output", str(out)]) == 0
    again, has_manifest = import_run(out, tmp_path / "elsewhere")
    assert has_manifest
    assert cli.main(["verify", str(again)]) == 0


@pytest.mark.parametrize("archive", [each for each in ARCHIVES if "load" in each.stem], indirect=True)
def test_a_load_is_judged_again(folder: Path, archive: Path) -> None:
    assert cli.main(["load", "--again", folder.name]) == 0

    judged = json.loads((folder / "load.json").read_text(encoding="utf-8"))["load"]
    page = written(archive, "load.html")
    assert judged["valid"]
    for level in judged["levels"]:
        assert f"{level['delay_ms_p50']:.3f}" in page
