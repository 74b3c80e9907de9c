"""Is the port really free: on the very address that will be used, and for nobody else who answers there.

Not left to the server: one that sets SO_REUSEPORT, as `eventlet.listen` does, would start without an error and take
half of the other's clients.
"""

from __future__ import annotations

import contextlib
import errno
import socket

import psutil

from app.settings import is_loopback
from app.tools.doctor.finding import Finding, fail, ok, warn

NAME = "port"

CONNECT_TIMEOUT_S = 0.3
"""To this machine's own addresses, where an answer comes at once or never."""


def look(host: str, port: int) -> tuple[int, Finding]:
    """The port, or a free one for 0, and how it is."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((host, port))
            port = int(sock.getsockname()[1])
        except (socket.gaierror, UnicodeError):
            return port, fail(NAME, "no_address", host=host)
        except PermissionError:
            return port, fail(NAME, "no_right", port=port)
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                return port, fail(NAME, "no_address", host=host)
            return port, _taken(host, port)
        other = _somebody_else(host, port)
    if other is not None:
        return port, warn(NAME, "shared", port=port, address=other)
    return port, ok(NAME, "free", port=port)


def _taken(host: str, port: int) -> Finding:
    holder = _holder(port)
    if holder is None:
        return fail(NAME, "taken", host=host, port=port)
    program, pid = holder
    return fail(NAME, "taken_by", host=host, port=port, program=program, pid=pid)


def _holder(port: int) -> tuple[str, int] | None:
    """Name and id of the process that listens there, where this user may know it and it has not gone meanwhile."""
    with contextlib.suppress(psutil.Error, OSError):  # macOS tells only root.
        for each in psutil.net_connections(kind="tcp"):
            if each.status == psutil.CONN_LISTEN and each.laddr[1:2] == (port,) and each.pid:
                return psutil.Process(each.pid).name(), each.pid
    return None


def _somebody_else(host: str, port: int) -> str | None:
    """An address under which something answers though the port could be bound: `localhost` may lead there.

    On IPv6 it may be another program beside ours on IPv4, and BSDs let a single address be bound beside all.
    """
    neighbours = {"0.0.0.0": ("127.0.0.1", "::1"), "::": ("127.0.0.1", "::1")}
    beside = neighbours.get(host, ("127.0.0.1", "::1") if is_loopback(host) else ())
    for address in beside:
        if address == host:
            continue
        with contextlib.suppress(OSError), socket.create_connection((address, port), CONNECT_TIMEOUT_S):
            return address
    return None
