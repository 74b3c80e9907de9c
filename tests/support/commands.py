"""`./siar` as a user calls it, and `./siar load` with its parsed result."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.server import ROOT

TRIES = 3
"""A busy machine may invalidate a load run; then it is repeated, because the tests are about valid ones."""

OF_THE_STREAM = ("stamps_missing", "broken_stream", "users_missing")
"""Codes of invalid trials that a busy machine does not excuse."""


def siar(
    folder: Path, *arguments: str, timeout_s: float = 120, **settings: str
) -> subprocess.CompletedProcess[str]:
    """Run `./siar ...` in `folder`, without the wrapper's setup."""
    program = ("tests.tools.suite", *arguments[1:]) if arguments[:1] == ("test",) else ("app", *arguments)
    return subprocess.run(
        [sys.executable, "-P", "-m", *program],
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


def load(
    folder: Path, *flags: str, **settings: str
) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """Run `./siar load` and return its result."""
    (folder / "load.json").unlink(missing_ok=True)  # It may be of an earlier attempt.
    done = siar(
        folder,
        *("load", "--seed", "3", "--json", "load.json", "--junit", "load.xml", *flags),
        timeout_s=300,
        **settings,
    )
    assert (folder / "load.json").is_file(), done.stderr
    return done, json.loads((folder / "load.json").read_text())


def valid_load(folder: Path, *flags: str) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """Run `./siar load` until its generator is valid; skip the test if it never is."""
    troubles = ""
    for _ in range(TRIES):
        done, result = load(folder, *flags)
        if result["load"]["valid"]:
            return done, result
        troubles = " ".join(result["load"]["troubles"])
        assert not any(code in troubles for code in OF_THE_STREAM), troubles
    pytest.skip(f"this machine is not quiet enough: {troubles}")
