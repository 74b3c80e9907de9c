"""Who counts as one guest: an address, or of IPv6 its /64, since one customer has that many addresses to come from."""

from __future__ import annotations

import functools
import ipaddress

ADDRESSES_KEPT_MAX = 4096


@functools.lru_cache(ADDRESSES_KEPT_MAX)
def network_of(address: str) -> str:
    """The text by which an address is counted; what is no address (a Unix socket's) as it is."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is None:
        return str(ipaddress.ip_network((ip, 64), strict=False))
    return address
