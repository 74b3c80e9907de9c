"""The commands of README.md that take many minutes, as they stand there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import readme
from tests.support.commands import siar

pytestmark = pytest.mark.nightly

DONE_S = 3600.0

DEMO = [command for command, _ in readme.commands() if command.startswith("./siar demo")]
LONG = [command for command, needs in readme.commands() if needs == "many minutes"]


@pytest.mark.parametrize("command", LONG)
def test_a_long_command_runs_to_its_end(command: str, tmp_path: Path) -> None:
    done = siar(tmp_path, *command.split()[1:], "--json", "result.json", timeout_s=DONE_S)

    # 1: a cell was invalid, because the machine did other things; it says so and is no crash.
    assert done.returncode in (0, 1), done.stderr
    assert (tmp_path / "result.json").stat().st_size > 0
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", DEMO)
def test_a_demo_is_a_run_that_every_other_command_of_the_page_takes(command: str, tmp_path: Path) -> None:
    done = siar(tmp_path, *command.split()[1:], timeout_s=DONE_S)

    assert done.returncode == 0, done.stderr + done.stdout
    (folder,) = (tmp_path / "runs").glob("2*")
    for name in ("run.sqlite", "report.html", "result.json", "deliveries.csv", "trials.csv", "clients.csv"):
        assert (folder / name).stat().st_size > 0, "the page says that it is in a run's folder"
    assert_all_work(tmp_path, folder.name)


def assert_all_work(folder: Path, run: str) -> None:
    """The commands that look at a run, in the page's own words."""
    (report,) = [
        each
        for each in readme.inline_commands()
        if each.startswith("./siar report") and "--figures" in each and "[" not in each
    ]
    for command in (
        "./siar runs",
        report,
        f"./siar verify {run}",
        f"./siar export {run} --output taken.zip",
        "./siar runs prune",
    ):
        words = [
            {"RUN": run, "DIR": "drawn", "DIR/figures": "drawn/figures"}.get(w, w) for w in command.split()
        ]
        done = siar(folder, *words[1:], timeout_s=DONE_S)
        assert done.returncode == 0, (command, done.stderr, done.stdout)
    assert {path.suffix for path in (folder / "drawn").iterdir()} >= {".html", ".md", ".pdf"}
    assert {path.suffix for path in (folder / "drawn" / "figures").iterdir()} >= {".svg", ".png", ".pdf"}
    opened = siar(folder, "import", "taken.zip", timeout_s=DONE_S, SIAR_RUNS_DIR="elsewhere")
    assert opened.returncode == 0, opened.stderr
