"""Read-only access of the checks to the machine: small files, and output of system tools."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

FILE_BYTES_MAX = 262_144
"""Upper bound of what is read of a file; system files read here have a few lines."""

COMMAND_TIMEOUT_S = 3.0
"""Timeout that abandons a tool which asks for a password or waits for a daemon."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Files below a root, and commands on a search path; tests set both to folders of their own."""

    root: Path = Path("/")
    search_path: str = field(default_factory=lambda: os.environ.get("PATH", os.defpath))
    platform: str = sys.platform

    def text(self, path: str) -> str | None:
        """Return the beginning of a file (`path` without the leading slash); `None` if it cannot be read."""
        try:
            with (self.root / path).open("rb") as file:
                return file.read(FILE_BYTES_MAX).decode("utf-8", "replace")
        except OSError:
            return None

    def has(self, path: str) -> bool:
        """Return whether the file or folder exists."""
        try:
            return (self.root / path).exists()
        except OSError:  # In Python 3.11, `exists` raises "permission denied".
            return False

    def output(self, *command: str) -> str | None:
        """Return the output of a command; `None` if it is missing, fails, or takes too long."""
        program = shutil.which(command[0], path=self.search_path)
        if program is None:
            return None
        try:
            done = subprocess.run(
                [program, *command[1:]],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=COMMAND_TIMEOUT_S,
                check=True,
            )
        except (OSError, subprocess.SubprocessError):
            return None
        return done.stdout.decode("utf-8", "replace")
