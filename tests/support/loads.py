"""`./siar load` with its result, as a test wants it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import siar

TRIES = 3
"""A machine that others use may void a load: then it is made again, since what is tested is what a valid one says."""

OF_THE_STREAM = ("stamps_missing", "broken_stream", "users_missing")
"""Codes of void trials that a busy machine is no excuse for."""


def load(
    folder: Path, *flags: str, **settings: str
) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """One `./siar load` with its result."""
    (folder / "load.json").unlink(missing_ok=True)  # Of an earlier try.
    done = siar(
        folder,
        *("load", "--seed", "3", "--json", "load.json", "--junit", "load.xml", *flags),
        timeout_s=300,
        **settings,
    )
    assert (folder / "load.json").is_file(), done.stderr
    return done, json.loads((folder / "load.json").read_text())


def valid_load(folder: Path, *flags: str) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """One whose generator is to be believed."""
    told = ""
    for _ in range(TRIES):
        done, result = load(folder, *flags)
        if result["load"]["valid"]:
            return done, result
        told = " ".join(result["load"]["troubles"])
        assert not any(code in told for code in OF_THE_STREAM), told
    pytest.skip(f"this machine is not quiet enough: {told}")
