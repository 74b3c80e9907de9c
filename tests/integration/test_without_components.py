"""A machine without Chromium, Redis, nginx and the rest: their tests are skipped, and no other is the worse for it.

CI has them all, so that this is the only place where anybody sees it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from app.lab.run import processes
from tests.components import CHROMIUM_NAMES
from tests.support.server import ROOT

COMPONENTS = {*CHROMIUM_NAMES, "redis-server", "nginx", "node", "npm", "npx", "curl", "ip"}

ASKS = re.compile(
    r"\b(require_(tool|chromium|node|node_modules)|shared_redis|redis_server|browser: Browser)\b"
)
"""What a test file says that asks for one; those of the contracts ask through their brokers."""


def everything_else(folder: Path) -> Path:
    """A directory of programs that has all of PATH but the components."""
    folder.mkdir()
    for each in os.environ["PATH"].split(os.pathsep):
        if not Path(each).is_dir():
            continue
        for program in Path(each).iterdir():
            link = folder / program.name
            if program.name not in COMPONENTS and not link.is_symlink():
                link.symlink_to(program)
    return folder


@pytest.mark.nightly
def test_where_components_are_missing_their_tests_are_skipped_and_no_other_fails(tmp_path: Path) -> None:
    programs = everything_else(tmp_path / "bin")
    files = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if path.name != Path(__file__).name
        and (path.parent.name == "contract" or ASKS.search(path.read_text(encoding="utf-8")))
    ]
    arguments = ["-q", "-p", "no:cacheprovider", "-m", "not slow and not alone and not nightly", *files]

    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=ROOT,
        env=processes.environment() | {"PATH": str(programs)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    last = done.stdout.strip().rpartition("\n")[2]
    assert done.returncode == 0, done.stdout[-5_000:]
    assert re.search(r"\b\d{2,} skipped", last), last
    lines = [line for line in done.stdout.splitlines() if re.match(r"skipped \d+: needs ", line)]
    assert len([line for line in lines if "needs redis-server" in line]) == 1, lines
    assert len([line for line in lines if "needs Chromium" in line]) == 1, lines
