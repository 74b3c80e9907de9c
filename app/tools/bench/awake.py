"""Keeps the machine's processors from sleeping between two pieces of work, as latency benchmarks do.

A load of one notification a second wakes idle processors some thousand times a second. Each must first come out of its
sleep, which takes up to 0.2 ms on a bare machine; in a virtual machine it has to be given a processor again by the host,
and the guest sees that as time stolen: 1 to 3 % beside a load of a tenth of the machine, and a fifth of it awake.
What is measured then is the machine's sleep as much as the server.

Linux takes such a wish from whoever holds `/dev/cpu_dma_latency` open (PM quality of service,
`Documentation/power/pm_qos_interface.rst`; cyclictest and tuned's profile latency-performance ask for the same), and
drops it when the file is closed, so that a killed run leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterator
from pathlib import Path

WISH = Path("/dev/cpu_dma_latency")
"""Belongs to root on most systems; there is none in most containers."""

NO_LATENCY_US = struct.pack("=i", 0)


@contextlib.contextmanager
def kept_awake(*, wish: Path = WISH) -> Iterator[bool]:
    """Within this block no processor sleeps deeper than a loop that looks for work.

    Gives whether the wish was taken: not where the system has no such file, or this user may not write to it.
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
