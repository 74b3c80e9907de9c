"""The commands of README.md and docs/ that take many minutes, as they stand there; those of a minute are in test_readme_commands.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import readme
from tests.support.commands import siar

pytestmark = pytest.mark.nightly

DONE_S = 3600.0

LONG = [
    command for command, needs in readme.commands() if needs == "many minutes" and "--quick" not in command
]


@pytest.mark.parametrize("command", LONG)
def test_a_long_command_runs_to_its_end(command: str, tmp_path: Path) -> None:
    done = siar(tmp_path, *command.split()[1:], "--json", "result.json", timeout_s=DONE_S)

    # 1: a cell was invalid, because the machine did other things; it says so and is no crash.
    assert done.returncode in (0, 1), done.stderr
    assert (tmp_path / "result.json").stat().st_size > 0
    assert "Traceback" not in done.stderr
