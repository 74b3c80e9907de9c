"""`./siar` as a user calls it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.server import ROOT


def siar(
    folder: Path, *arguments: str, timeout_s: float = 120, **settings: str
) -> subprocess.CompletedProcess[str]:
    """Run `./siar ...` in `folder`, without the wrapper's setup."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "app", *arguments],
        capture_output=True,
        text=True,
        timeout=timeout_s,
        cwd=folder,
        env=environment_of(**settings),
    )


def environment_of(**settings: str) -> dict[str, str]:
    """Return the environment of a command: ours, with these settings only."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SIAR_")}
    return environment | {"PYTHONPATH": str(ROOT)} | settings
