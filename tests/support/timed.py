"""Resources used by one process: elapsed seconds, CPU seconds, and peak memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass

from tests.support.server import ROOT


@dataclass(frozen=True, slots=True)
class Taken:
    """Resources used by one command, including the start of Python."""

    seconds: float
    cpu_s: float
    peak_mb: float
    output: str


def timed_siar(words: Sequence[str], **settings: str) -> Taken:
    """Run `./siar ...` as a user calls it. Raises `SystemExit` when it does not end with 0."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SIAR_")}
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        began_s = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "app", *words],
            env={**environment, "PYTHONPATH": str(ROOT), **settings},
            stdout=output,
            stderr=output,
        )
        # Like `wait`, but it also returns the resources that this process used.
        _, status, usage = os.wait4(process.pid, 0)
        taken_s = time.perf_counter() - began_s
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if process.returncode:
        raise SystemExit(f"siar {' '.join(words)} ended with {process.returncode}: {text}")
    peak = usage.ru_maxrss / 1e6 if sys.platform == "darwin" else usage.ru_maxrss * 1024 / 1e6
    return Taken(taken_s, usage.ru_utime + usage.ru_stime, peak, text)
