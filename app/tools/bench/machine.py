"""Resources of the machine for a bench: file descriptors, cores for server and swarm, processors that stay awake."""

from __future__ import annotations

import contextlib
import os
import resource
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.server.wsgi import descriptors

LATENCY_DEVICE = Path("/dev/cpu_dma_latency")
"""Writable by root only on most systems; missing in most containers."""

NO_LATENCY_US = struct.pack("=i", 0)


def raise_open_files() -> int:
    """Raise the limit of open files as far as the system allows. Returns the new limit."""
    most = descriptors.raise_limit()
    return most if most != resource.RLIM_INFINITY else sys.maxsize


@dataclass(frozen=True, slots=True)
class Cores:
    """Cores of server and swarm. `None`: any core."""

    server: int | None
    swarm: int | None

    @property
    def are_apart(self) -> bool:
        """True if server and swarm cannot take each other's CPU time."""
        return self.server is not None

    @contextlib.contextmanager
    def on_server_core(self) -> Iterator[None]:
        """Pin this process to the server's core for the block; children started in it inherit that."""
        if self.server is None or sys.platform != "linux":
            yield
            return
        before = os.sched_getaffinity(0)
        self._go(self.server)
        try:
            yield
        finally:
            os.sched_setaffinity(0, before)

    def go_to_swarm_core(self) -> None:
        """Pin this process, which publishes, and its future children to the swarm's core."""
        self._go(self.swarm)

    @staticmethod
    def _go(core: int | None) -> None:
        if core is not None and sys.platform == "linux":
            os.sched_setaffinity(0, {core})


def choose_cores() -> Cores:
    """Choose the first core for the server and the last for the swarm, if there are two."""
    if sys.platform != "linux":
        return Cores(None, None)
    usable = sorted(os.sched_getaffinity(0))
    return Cores(usable[0], usable[-1]) if len(usable) > 1 else Cores(None, None)


@contextlib.contextmanager
def kept_awake(*, device: Path = LATENCY_DEVICE) -> Iterator[bool]:
    """Keep all processors out of deep sleep states during the block, as latency benchmarks do.

    Yields whether the request was accepted. It is not if the system has no such file, or this user may not write to it.

    A load of one notification a second wakes idle processors some thousand times a second. Each has to leave its sleep
    state first, which takes up to 0.2 ms on a bare machine. In a virtual machine, the host has to schedule the
    processor again, and the guest sees that as stolen time: 1 to 3 % with a load of a tenth of the machine, and a fifth
    of that if kept awake. Without this, the machine's sleep is measured as much as the server.

    On Linux, a process requests low latency by keeping `/dev/cpu_dma_latency` open (PM quality of service,
    `Documentation/power/pm_qos_interface.rst`; cyclictest and tuned's profile latency-performance do the same). The
    request ends when the file is closed, so a killed run leaves nothing behind.
    """
    try:
        held = os.open(device, os.O_WRONLY)
    except OSError:
        yield False
        return
    try:
        os.write(held, NO_LATENCY_US)
        yield True
    finally:
        os.close(held)
