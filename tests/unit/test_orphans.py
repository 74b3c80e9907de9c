"""What looks for processes that a fault left behind does find one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.support.orphans import left_in

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="nobody else's folder can be read elsewhere")


def test_a_program_that_runs_in_a_folder_is_found_until_it_has_ended(tmp_path: Path) -> None:
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    for folder in (here, elsewhere):
        folder.mkdir()

    with subprocess.Popen(["sleep", "60"], cwd=here) as process:
        while not psutil.Process(process.pid).cmdline():
            pass  # The kernel tells the arguments a moment after the program was started.
        found, found_elsewhere = left_in(here, within_s=0), left_in(elsewhere, within_s=0)
        process.kill()

    assert found == [f"{process.pid}: sleep 60"]
    assert found_elsewhere == []
    assert left_in(here) == []
