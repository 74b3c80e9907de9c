"""Which names a server goes by, against DNS rebinding: any site can point a name of its own at this machine."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Container

_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::[0-9]{1,5})?")
"""Brackets hold an IPv6 address and nothing else (RFC 3986, section 3.2.2)."""


def is_our_host(host: str, allowed: Container[str]) -> bool:
    """Whether a request with this `Host` was meant for us.

    IP literals, dotless names and `*.local` are nobody's in the public DNS; of others those that the operator allowed,
    which are given in lower case.
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
        or name in allowed
        or _is_address(name, ipaddress.IPv4Address)
    )


def _is_address(text: str, kind: type[ipaddress.IPv4Address | ipaddress.IPv6Address]) -> bool:
    try:
        kind(text)
    except ValueError:
        return False
    return True
