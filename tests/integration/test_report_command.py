"""`siar report` as it is typed: forms, folders, figures and languages, and what it refuses."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from app.cli import main as cli
from tests.unit.support_run import RunMaker, a_plan, store_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    made = RunMaker(a_plan(client_counts=(1, 2), blocks=3, notifications=4)).run()
    return str(store_run(made, tmp_path_factory.mktemp("runs")))


def test_several_forms_go_into_a_folder_and_are_what_the_run_itself_has(run: str, tmp_path: Path) -> None:
    assert cli.main(["report", run, "--format", "html,md,csv,json", "--output", str(tmp_path / "out")]) == 0

    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"report.html", "report.md", "deliveries.csv", "trials.csv", "clients.csv", "result.json"}
    for name in names - {"report.md"}:
        assert (tmp_path / "out" / name).read_bytes() == (Path(run) / name).read_bytes(), name


@pytest.mark.slow
def test_the_same_run_gives_the_same_bytes_in_every_form_and_language(run: str, tmp_path: Path) -> None:
    forms = ["html", "md", "json", "csv", "text"]
    for form in forms:
        for language in ("en", "id"):
            for place in ("first", "second"):
                target = tmp_path / f"{place}-{form}-{language}"
                arguments = ["report", run, "--format", form, "--language", language, "--output", str(target)]
                assert cli.main(arguments) == 0

    for form in forms:
        first, second, indonesian = (
            (tmp_path / f"{name}").read_bytes()
            for name in (f"first-{form}-en", f"second-{form}-en", f"first-{form}-id")
        )
        assert first == second, form
        assert (first == indonesian) == (form in ("json", "csv")), form
        assert indonesian == (tmp_path / f"second-{form}-id").read_bytes()


def test_a_terminal_can_be_told_in_indonesian(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", run, "--language", "id"]) == 0

    said = capsys.readouterr().out
    assert "Percobaan 20260101-000000-synthetic (lengkap, klien simulasi)" in said
    assert "Digabung atas blok sah" in said


def test_figures_are_written_beside_and_markdown_shows_them_also_without_typst(
    run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "typst", None)
    report, figures = tmp_path / "report.md", tmp_path / "figures"

    assert (
        cli.main(["report", run, "--format", "md", "--output", str(report), "--figures", str(figures)]) == 0
    )

    drawn = sorted(path.name for path in figures.glob("*.svg"))
    text = report.read_text()
    assert "forest0.svg" in drawn
    assert "PNG and PDF need the package typst" in capsys.readouterr().err
    assert (figures / "figures.md").is_file()
    assert all(f"](<figures/{name}>)" in text for name in drawn)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--format", "doc"], '"doc" is no form'),
        (["--format", "html,text", "--output", "x"], "ask for it alone"),
        (["--format", "html,md"], "--output"),
        (["--format", "pdf"], "--output"),
        (["--format", "parquet"], "--output"),
        (["--figures", "x", "--size", "85px"], "85mm"),
    ],
)
def test_what_cannot_be_drawn_is_a_sentence_before_anything_is_written(
    run: str,
    arguments: list[str],
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)

    assert cli.main(["report", run, *arguments]) == 2

    assert reason in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_json_on_standard_output_is_the_runs_result(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", run, "--format", "json"]) == 0

    assert json.loads(capsys.readouterr().out) == json.loads((Path(run) / "result.json").read_text())
