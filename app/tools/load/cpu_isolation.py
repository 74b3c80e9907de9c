"""CPU isolation of server and generator: whether they can take each other's CPU time, by the cores they may use."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Set
from enum import Enum

import psutil

from app.lab.run.api import Server
from app.lab.run.client_tls import address_of
from app.settings import is_loopback


class Sharing(Enum):
    """Overlap of the cores of server and generator."""

    NEVER = "never"
    MAY = "may"
    """The scheduler may put both on one core, but need not: they have two or more between them."""
    MUST = "must"
    """They have a single core between them."""


def sharing(server: Set[int] | None, generator: Set[int]) -> Sharing:
    """Return the overlap of two sets of cores. `server`: `None` if it runs on another machine."""
    if server is None or server.isdisjoint(generator):
        return Sharing.NEVER
    return Sharing.MUST if len(server | generator) == 1 else Sharing.MAY


def cores_of_servers(servers: Iterable[Server]) -> Set[int] | None:
    """Return the cores that any of these servers may use; `None` if none of them runs on this machine."""
    here = [each for each in servers if is_loopback(each.host)]
    if not here:
        return None
    return {core for each in here for core in cores_of(_processes(each))}


def cores_of(pids: Iterable[int]) -> Set[int]:
    """Return the cores that any of these processes may use; all cores of the machine if that is unknown."""
    found: set[int] = set()
    if sys.platform == "linux":
        for pid in pids:
            with contextlib.suppress(OSError):  # The process has ended.
                found |= os.sched_getaffinity(pid)
    return found or frozenset(range(os.cpu_count() or 1))


def _processes(server: Server) -> list[int]:
    """Return the processes of a server on this machine; none if the system does not tell which they are."""
    found: list[int] = []
    with contextlib.suppress(psutil.Error):
        root = server.pid or _listener(address_of(server.url)[1])
        if root is not None:
            process = psutil.Process(root)
            found = [root, *(each.pid for each in process.children(recursive=True))]
    return found


def _listener(port: int) -> int | None:
    """Return the process that listens on a port of this machine, if this user may know it."""
    for each in psutil.net_connections(kind="tcp"):
        if each.status == psutil.CONN_LISTEN and each.laddr and each.laddr.port == port and each.pid:
            return int(each.pid)
    return None
