"""Which names a server goes by, against DNS rebinding: any site can point a name of its own at this machine."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Container
from urllib.parse import urlsplit

DEFAULT_PORTS = {"http": 80, "https": 443}

_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::[0-9]{1,5})?")
"""Brackets hold an IPv6 address and nothing else (RFC 3986, section 3.2.2)."""


def is_localhost(name: str) -> bool:
    """Tell whether a name is loopback by definition (RFC 6761, section 6.3), in lower case and without a dot at its end."""
    return name == "localhost" or name.endswith(".localhost")


def is_same_origin(origin: str, host: str) -> bool:
    """Tell whether a page of `origin` was served under `host`: the same name and port (RFC 6454, sections 4 and 5).

    The scheme is the origin's: a proxy may end TLS before us. It decides on the port where none is named.
    """
    try:
        theirs, ours = urlsplit(origin), urlsplit(f"//{host}")
        default = DEFAULT_PORTS.get(theirs.scheme)
        ports = [default if each.port is None else each.port for each in (theirs, ours)]
    except ValueError:
        return False
    return default is not None and theirs.hostname == ours.hostname is not None and ports[0] == ports[1]


def name_of_origin(origin: str) -> str:
    """The host's name in an `Origin`, in lower case; empty where there is none."""
    try:
        return urlsplit(origin).hostname or ""
    except ValueError:
        return ""


def is_our_host(host: str, allowed: Container[str]) -> bool:
    """Whether a request with this `Host` was meant for us.

    IP literals, dotless names, `*.local` and `*.localhost` are nobody's in the public DNS; of others those that the
    operator allowed, which are given in lower case.
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
