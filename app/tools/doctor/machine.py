"""The machine as checks see it: its small files and what its own tools say. Nothing is ever changed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

FILE_BYTES_MAX = 262_144
"""What is read here has lines, not pages."""

COMMAND_TIMEOUT_S = 3.0
"""A tool that asks for a password, or waits for a daemon, is left."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Files under a root and commands on a path; a test gives folders of its own."""

    root: Path = Path("/")
    search_path: str = field(default_factory=lambda: os.environ.get("PATH", os.defpath))
    platform: str = sys.platform

    def text(self, path: str) -> str | None:
        """The beginning of a file (`path` without the leading slash); `None` where it cannot be read."""
        try:
            with (self.root / path).open("rb") as file:
                return file.read(FILE_BYTES_MAX).decode("utf-8", "replace")
        except OSError:
            return None

    def has(self, path: str) -> bool:
        """Whether there is such a file or folder."""
        try:
            return (self.root / path).exists()
        except OSError:  # Python 3.11 lets "permission denied" through.
            return False

    def said(self, *command: str) -> str | None:
        """What a command prints; `None` where it is missing, fails, or takes too long."""
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
