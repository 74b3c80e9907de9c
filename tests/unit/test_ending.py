"""What a measuring command prints at its end, and its exit code."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path

import pytest

from app.cli import measuring, open_
from app.cli.main import main
from app.core.exit_codes import EXIT_FAILURE, EXIT_OK, EXIT_UNFIT, EXIT_USAGE
from app.i18n import LANGUAGES
from app.lab.analysis.analyse import analyse
from app.store.plans import demo_plan
from tests.unit.support_run import RunMaker, a_plan, store_run
from tests.unit.test_headline import everywhere, losing

ROWS = 24
"""Rows of a terminal as it opens; the last one has the prompt."""


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_end_of_a_demo_fits_a_terminal(
    language: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "PIPED_COLUMNS", 80)
    folder = store_run(RunMaker(plan=demo_plan(seed=1)).run(), tmp_path)

    measuring.report(folder, measuring.Ending(language))

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= ROWS - 2
    assert any("./siar open" in line for line in lines)
    assert "--seed 1" in lines[-2]


@pytest.mark.parametrize(
    ("maker", "code", "strict"),
    [
        (RunMaker(delay_ms=everywhere(0.6)), EXIT_OK, EXIT_OK),
        (RunMaker(plan=a_plan(blocks=3)), EXIT_OK, EXIT_UNFIT),
        (RunMaker(plan=a_plan(arms=("sse",))), EXIT_OK, EXIT_UNFIT),
        (RunMaker(plan=a_plan(blocks=3), alter=losing(arm="sse")), EXIT_FAILURE, EXIT_FAILURE),
    ],
    ids=["decided", "open", "one arm", "lost"],
)
def test_strict_wants_something_decided(maker: RunMaker, code: int, strict: int) -> None:
    analysis = analyse(maker.run())

    assert measuring.exit_code(analysis) == code
    assert measuring.exit_code(analysis, is_strict=True) == strict


@pytest.fixture
def runs_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SIAR_RUNS_DIR", str(tmp_path))
    monkeypatch.delenv("LC_ALL", raising=False)
    monkeypatch.setenv("LANG", "en_US.UTF-8")
    return tmp_path


def a_folder(runs_dir: Path, name: str, *files: str) -> Path:
    """Make the folder of a run with these files."""
    folder = runs_dir / name
    folder.mkdir()
    for each in files:
        (folder / each).write_text("<title>a report</title>")
    return folder


def test_open_shows_the_newest_report_in_the_browser(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = store_run(RunMaker(a_plan(blocks=1, client_counts=(1,), notifications=3)).run(), runs_dir)
    (folder / "report.html").write_text("<title>a report</title>")
    opened: list[str] = []

    def open_url(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr(webbrowser, "open", open_url)
    monkeypatch.setenv("DISPLAY", ":0")

    assert main(["open"]) == EXIT_OK
    assert opened == [(folder / "report.html").resolve().as_uri()]
    assert str(folder / "report.html") in capsys.readouterr().out


def test_open_prefers_the_page_of_a_load_run_and_says_where_there_is_no_browser(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = a_folder(runs_dir, "r", "report.html", "load.html")
    for name in open_.DISPLAYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(webbrowser, "open", None)

    assert main(["open", str(folder)]) == EXIT_OK
    said = capsys.readouterr().out
    assert str(folder / "load.html") in said
    assert "no browser" in said


def test_open_says_what_is_missing(runs_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["open"]) == EXIT_USAGE
    assert "siar demo" in capsys.readouterr().err
    folder = a_folder(runs_dir, "bare")
    assert main(["open", str(folder)]) == EXIT_USAGE
    assert "siar report" in capsys.readouterr().err
