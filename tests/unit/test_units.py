"""A type checker refuses nanoseconds, and the stamp of another clock, where a moment of one clock is wanted."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """\
from app import clock
from app.server.broker.base import Draft
from app.lab.measure.cpu import CpuSnapshot
from app.server.wsgi.timer import Timer

CpuSnapshot(clock.monotonic_us(), {}, 0.0, 0.0)
CpuSnapshot(clock.monotonic_ns(), {}, 0.0, 0.0)  # refused
CpuSnapshot(clock.now_us(), {}, 0.0, 0.0)  # refused
Draft("title", "body", "default", clock.now_us())
Draft("title", "body", "default", clock.monotonic_us())  # refused
Timer().wait_until(clock.now_us())
Timer().wait_until(clock.monotonic_us())  # refused
clock.timestamp(clock.stamp_us(clock.monotonic_ns()))
clock.timestamp(clock.monotonic_ns())  # refused
"""


def test_mypy_refuses_nanoseconds_and_the_other_clock_where_a_stamp_is_wanted() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, timeout=600
    )

    refused = [
        int(line)
        for line in re.findall(r"^<string>:(\d+): error: .*\[arg-type\]$", done.stdout, re.MULTILINE)
    ]
    assert refused == [
        number for number, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith("# refused")
    ], done.stdout + done.stderr
