"""The gate of CI: which tests are part of it, and what it makes of one that fails."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.tools import nightly, suite

FAILS = "def test_it():\n    assert False\n"

FAILS_ONCE = """
from pathlib import Path

def test_it():
    before = Path(__file__).with_suffix(".ran")
    has_run = before.exists()
    before.touch()
    assert has_run
"""


def the_gate(folder: Path, **tests: str) -> tuple[suite.Outcome, Path]:
    """Run the gate over test files of these names; its reports are next to them."""
    reports = folder / "reports"
    reports.mkdir()
    (folder / "pytest.ini").write_text("[pytest]\n")  # Node ids begin at the folder, wherever it lies.
    for name, text in tests.items():
        (folder / f"test_{name}.py").write_text(text)
    return suite.run_gate(reports, ("-n", "2", "--dist", "loadfile", str(folder))), reports


def test_up_to_three_tests_that_pass_the_second_time_are_named_and_are_no_failure(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    outcome, _reports = the_gate(tmp_path, a=FAILS_ONCE, b=FAILS_ONCE, c=FAILS_ONCE)

    assert outcome.word == "ok"
    flaky = [line for line in capfd.readouterr().out.splitlines() if line.startswith("FLAKY ")]
    assert flaky == [f"FLAKY test_{name}.py::test_it" for name in "abc"]


def test_a_fourth_test_that_fails_is_a_failure_and_none_is_run_again(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    outcome, reports = the_gate(tmp_path, a=FAILS_ONCE, b=FAILS_ONCE, c=FAILS_ONCE, d=FAILS_ONCE)

    assert outcome.word == "FAILED"
    assert "FLAKY" not in capfd.readouterr().out
    assert [path.name for path in reports.glob("*.xml")] == ["pytest.xml"]


def test_a_test_that_fails_twice_is_a_failure_and_another_one_is_named_all_the_same(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    outcome, reports = the_gate(tmp_path, a=FAILS_ONCE, b=FAILS)

    assert outcome.word == "FAILED"
    assert "FLAKY test_a.py::test_it\n" in capfd.readouterr().out
    assert suite.last_failed(reports) == {"test_b.py::test_it"}


@pytest.mark.parametrize("text", ["import nothing_of_this_name\n", ""], ids=["no import", "no test"])
def test_what_cannot_be_collected_is_a_failure(text: str, tmp_path: Path) -> None:
    assert the_gate(tmp_path, a=text)[0].word == "FAILED"


@pytest.mark.slow
def test_no_nightly_test_is_part_of_the_gate_even_where_every_file_is_due() -> None:
    files = list(nightly.triggers())
    assert files

    both = collected(files, suite.gate_selection(is_all=True)) & collected(files, ("-m", "nightly"))

    assert both == set()


def collected(files: Sequence[str], selection: Sequence[str]) -> set[str]:
    """Return the node ids that pytest collects of these files."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", *selection, "-n", "0", *files],
        cwd=suite.ROOT,
        env=suite.environment(),
        capture_output=True,
        text=True,
    )
    found = {line for line in done.stdout.splitlines() if "::" in line}
    assert found, done.stdout + done.stderr
    return found


def test_after_a_change_of_everything_ci_runs_pytest_once_and_names_what_is_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    selections = []

    def run_pytest(name: str, arguments: Sequence[str], reports: Path | None = None) -> suite.Outcome:
        selections.append(arguments)
        return suite.Outcome(name, "ok", duration_s=1.0)

    monkeypatch.setattr(suite, "run_checks", list)
    monkeypatch.setattr(suite, "run_pytest", run_pytest)
    monkeypatch.setattr(nightly, "RECORD", tmp_path / "no-passes.json")

    assert suite.main(["--all"]) == 0

    assert len(selections) == 1
    assert set(suite.gate_selection(is_all=True)) <= set(selections[0])
    last = capsys.readouterr().out.splitlines()[-1]
    count = sum(1 for paths in nightly.triggers().values() if paths)
    assert last.startswith(f"nightly: {count} of {len(nightly.triggers())} files due: tests/")
