"""Keeps the machine's processors out of deep sleep states during a measurement, as latency benchmarks do.

A load of one notification a second wakes idle processors some thousand times a second. Each has to leave its sleep
state first, which takes up to 0.2 ms on a bare machine. In a virtual machine, the host has to schedule the processor
again, and the guest sees that as stolen time: 1 to 3 % with a load of a tenth of the machine, and a fifth of that if
kept awake. Without this, the machine's sleep is measured as much as the server.

On Linux, a process requests low latency by keeping `/dev/cpu_dma_latency` open (PM quality of service,
`Documentation/power/pm_qos_interface.rst`; cyclictest and tuned's profile latency-performance do the same). The request
ends when the file is closed, so a killed run leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterator
from pathlib import Path

WISH = Path("/dev/cpu_dma_latency")
"""Writable by root only on most systems; missing in most containers."""

NO_LATENCY_US = struct.pack("=i", 0)


@contextlib.contextmanager
def kept_awake(*, wish: Path = WISH) -> Iterator[bool]:
    """Keep all processors at or above the polling idle state during the block.

    Yields whether the request was accepted. It is not if the system has no such file, or this user may not write to it.
    """
    try:
        held = os.open(wish, os.O_WRONLY)
    except OSError:
        yield False
        return
    try:
        os.write(held, NO_LATENCY_US)
        yield True
    finally:
        os.close(held)
