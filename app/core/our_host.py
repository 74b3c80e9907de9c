"""Which names a server goes by, against DNS rebinding: any site can point a name of its own at this machine."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Container

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")


def is_our_host(host: str, allowed: Container[str]) -> bool:
    """Whether a request with this `Host` was meant for us.

    IP literals, dotless names and `*.local` are nobody's in the public DNS; of others those that the operator allowed,
    which are given in lower case.
    """
    match = _HOST.fullmatch(host)
    if match is None:
        return False
    name = match[1].strip("[]").lower().rstrip(".")
    if "." not in name and ":" not in name:
        return True
    if name.endswith(".local") or name in allowed:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
