"""Resources of the machine for a bench: file descriptors, and cores that separate server and swarm."""

from __future__ import annotations

import contextlib
import os
import resource
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from app.server.wsgi import descriptors


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
        """Return whether server and swarm cannot take each other's CPU time."""
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
