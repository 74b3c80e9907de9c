"""What a bench needs of the machine: descriptors, and cores to keep server and swarm apart."""

from __future__ import annotations

import contextlib
import os
import resource
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from app.server.wsgi import descriptors


def raise_open_files() -> int:
    """Take as many descriptors as the system lets this user have; answers how many."""
    most = descriptors.raise_limit()
    return most if most != resource.RLIM_INFINITY else sys.maxsize


@dataclass(frozen=True, slots=True)
class Cores:
    """Who runs where. `None`: wherever the system likes."""

    server: int | None
    swarm: int | None

    @property
    def are_apart(self) -> bool:
        """Whether server and swarm cannot take each other's time."""
        return self.server is not None

    @contextlib.contextmanager
    def on_server_core(self) -> Iterator[None]:
        """What is started inside runs on the server's core: a child inherits where it may run. Afterwards all is as before."""
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
        """This process, which publishes, and what it starts from now on."""
        self._go(self.swarm)

    @staticmethod
    def _go(core: int | None) -> None:
        if core is not None and sys.platform == "linux":
            os.sched_setaffinity(0, {core})


def choose_cores() -> Cores:
    """The first core for the server and the last for the swarm, where there are two."""
    if sys.platform != "linux":
        return Cores(None, None)
    usable = sorted(os.sched_getaffinity(0))
    return Cores(usable[0], usable[-1]) if len(usable) > 1 else Cores(None, None)
