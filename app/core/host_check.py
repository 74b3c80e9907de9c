"""Check of `Host` and `Origin` against DNS rebinding, in which a foreign site points its own name at this machine."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Container
from urllib.parse import urlsplit

DEFAULT_PORTS = {"http": 80, "https": 443}

_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::[0-9]{1,5})?")
"""Brackets contain only an IPv6 address (RFC 3986, section 3.2.2)."""


def is_localhost(name: str) -> bool:
    """Return True if a name is loopback by definition (RFC 6761, section 6.3). It is in lower case, without a final dot."""
    return name == "localhost" or name.endswith(".localhost")


def is_same_origin(origin: str, host: str) -> bool:
    """Return True if `origin` and `host` have the same name and port (RFC 6454, sections 4 and 5).

    A missing port is the default of the origin's scheme, since a proxy may terminate TLS in front of the server.
    """
    try:
        theirs, ours = urlsplit(origin), urlsplit(f"//{host}")
        default = DEFAULT_PORTS.get(theirs.scheme)
        ports = [default if each.port is None else each.port for each in (theirs, ours)]
    except ValueError:
        return False
    return default is not None and theirs.hostname == ours.hostname is not None and ports[0] == ports[1]


def name_of_origin(origin: str) -> str:
    """Return the host name in an `Origin`, in lower case; empty if there is none."""
    try:
        return urlsplit(origin).hostname or ""
    except ValueError:
        return ""


def is_our_host(host: str, allowed: Container[str]) -> bool:
    """Return True if a request with this `Host` is meant for this server.

    IP literals, dotless names, `*.local` and `*.localhost` cannot belong to anybody in the public DNS. Other names must
    be in `allowed`, which the operator sets, in lower case.
    """
    match = _HOST.fullmatch(host)
    if match is None:
        return False
    if match[1] is not None:
        return _is_address(match[1], ipaddress.IPv6Address)
    name = match[2].lower().rstrip(".")
    return (
        "." not in name
        or name.endswith(".local")
        or is_localhost(name)
        or name in allowed
        or _is_address(name, ipaddress.IPv4Address)
    )


def _is_address(text: str, kind: type[ipaddress.IPv4Address | ipaddress.IPv6Address]) -> bool:
    try:
        kind(text)
    except ValueError:
        return False
    return True
