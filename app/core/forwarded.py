"""Whose request a proxy passes on: `X-Forwarded-For` and `-Proto`, believed only of proxies that the operator named."""

from __future__ import annotations

import functools
import ipaddress
import re
from collections.abc import Callable, Iterable

from app.core.network_of import ADDRESSES_KEPT_MAX

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

ENTRIES_MAX = 32
"""Proxies in a row that are looked through; nobody has as many."""

_WITH_PORT = re.compile(r"(?:\[(?P<v6>[^\]]+)\]|(?P<v4>[0-9.]+))(?::[0-9]{1,5})?")
"""`1.2.3.4:567` and `[::1]:567`, as some proxies write it."""


def parse_network(text: str) -> Network:
    """An address (`10.0.0.7`) or network (`10.0.0.0/24`). Raises `ValueError`."""
    return ipaddress.ip_network(text)


def parse_address(text: str) -> Address | None:
    """An address, IPv4 in IPv6 clothes undressed; `None` for what is none."""
    found = _WITH_PORT.fullmatch(text)
    try:
        address = ipaddress.ip_address((found["v6"] or found["v4"]) if found else text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


class Proxies:
    """The proxies that are believed."""

    def __init__(self, networks: Iterable[str]) -> None:
        self._networks = tuple(parse_network(each) for each in networks)

    def __bool__(self) -> bool:
        return bool(self._networks)

    def trusts(self, address: str) -> bool:
        """Whether what comes from `address` is a proxy's word."""
        return self._has(parse_address(address))

    def client(self, peer: str, forwarded_for: str) -> str:
        """The address of the client: the last one in the row that is no proxy of ours.

        Read from the right, where our own proxies wrote; what stands left of the first stranger is that stranger's
        word, and so is an entry that is no address.
        """
        client = peer
        entries = [each.strip() for each in forwarded_for.split(",")[-ENTRIES_MAX:] if each.strip()]
        while entries and self.trusts(client):
            address = parse_address(entries.pop())
            if address is None:
                break
            client = str(address)
        return client

    def _has(self, address: Address | None) -> bool:
        return address is not None and any(address in network for network in self._networks)


def exempt_from_shares(trusted_proxies: Iterable[str]) -> Callable[[str], bool]:
    """Tells the peers that no bound by address applies to: this machine, or the proxies, if any were named.

    Behind a proxy is everybody; and where there is one on this machine, loopback is no longer a sign of trust.
    """
    proxies = Proxies(trusted_proxies)

    @functools.lru_cache(ADDRESSES_KEPT_MAX)
    def is_exempt(peer: str) -> bool:
        if proxies:
            return proxies.trusts(peer)
        address = parse_address(peer)
        return address is None or address.is_loopback  # A Unix socket's peer has none.

    return is_exempt


def last_scheme(forwarded_proto: str) -> str:
    """`http` or `https` by the nearest proxy's word, empty for anything else."""
    scheme = forwarded_proto.rpartition(",")[2].strip().lower()
    return scheme if scheme in ("http", "https") else ""
