"""Networks that count as one client: an IPv4 address, or an IPv6 /64, since one customer owns that many addresses."""

from __future__ import annotations

import functools
import ipaddress

ADDRESSES_KEPT_MAX = 4096


@functools.lru_cache(ADDRESSES_KEPT_MAX)
def network_of(address: str) -> str:
    """Return the key under which an address is counted; text that is no address (a Unix socket's) is returned as it is."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is None:
        return str(ipaddress.ip_network((ip, 64), strict=False))
    return address
