"""Whether server and generator can take each other's time: by the cores that the system lets each of them use."""

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
    """What server and generator have to do with each other's cores."""

    NEVER = "never"
    MAY = "may"
    """The system may put both on one core, and may do better: it has two or more for them."""
    MUST = "must"
    """They have one core between them."""


def sharing(server: Set[int] | None, generator: Set[int]) -> Sharing:
    """By the cores that each may use. `server`: `None` where it runs on another machine."""
    if server is None or server.isdisjoint(generator):
        return Sharing.NEVER
    return Sharing.MUST if len(server | generator) == 1 else Sharing.MAY


def cores_of_servers(servers: Iterable[Server]) -> Set[int] | None:
    """The cores that any of these may use; `None` where none of them runs on this machine."""
    here = [each for each in servers if is_loopback(each.host)]
    if not here:
        return None
    return {core for each in here for core in cores_of(_processes(each))}


def cores_of(pids: Iterable[int]) -> Set[int]:
    """The cores that any of these processes may use; all of the machine where that cannot be told."""
    found: set[int] = set()
    if sys.platform == "linux":
        for pid in pids:
            with contextlib.suppress(OSError):  # It has ended.
                found |= os.sched_getaffinity(pid)
    return found or frozenset(range(os.cpu_count() or 1))


def _processes(server: Server) -> list[int]:
    """Of a server on this machine; none where the system does not tell whose they are."""
    found: list[int] = []
    with contextlib.suppress(psutil.Error):
        root = server.pid or _listener(address_of(server.url)[1])
        if root is not None:
            process = psutil.Process(root)
            found = [root, *(each.pid for each in process.children(recursive=True))]
    return found


def _listener(port: int) -> int | None:
    """Who listens on a port of this machine, as far as this user may know."""
    for each in psutil.net_connections(kind="tcp"):
        if each.status == psutil.CONN_LISTEN and each.laddr and each.laddr.port == port and each.pid:
            return int(each.pid)
    return None
