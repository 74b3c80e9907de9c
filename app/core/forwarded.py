"""The request that a proxy passes on, as it was before: believed only of proxies that the operator named.

Two families of headers say it: `X-Forwarded-For`, `-Host`, `-Port`, `-Proto` and `-Prefix`, and `Forwarded` (RFC 7239).
A proxy writes one of them and passes the other on as the client sent it. So they are never mixed: where any of the first
is there, the second is not read.
"""

from __future__ import annotations

import functools
import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from app.core.network_of import ADDRESSES_KEPT_MAX
from app.core.prefix import clean_prefix

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

ENTRIES_MAX = 32
"""Proxies in a row that are looked through; nobody has as many."""

_WITH_PORT = re.compile(r"(?:\[(?P<v6>[^\]]+)\]|(?P<v4>[0-9.]+))(?::(?:[0-9]{1,5}|_[A-Za-z0-9._-]+))?")
"""`1.2.3.4:567` and `[::1]:567`, as some proxies write it; a port may be hidden (RFC 7239, section 6.3)."""

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"

_PAIR = re.compile(rf'[ \t]*(?:({_TOKEN})=(?:({_TOKEN})|"((?:[^"\\]|\\.)*)"))?[ \t]*([;,]|$)')
"""One `name=value` of `Forwarded` and what separates it from the next one (RFC 7239, section 4)."""

_DEFAULT_PORTS = ("80", "443")
"""Nobody writes them into an address, and a proxy behind one that ends TLS gets the wrong one of the two."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as the client sent it, by the word of trusted proxies; empty where they do not say."""

    client: str
    """Its address; the peer's, where nobody else is named."""
    scheme: str = ""
    host: str = ""
    prefix: str = ""
    is_by_proxy: bool = False
    """True if a trusted proxy sent it."""


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

    def seen(self, peer: str, environ: Mapping[str, str]) -> Seen:
        """The request as the client sent it. `environ`: WSGI's names of the headers."""
        if not self.trusts(peer):
            return Seen(peer)
        of_x = {name: environ[key] for name, key in _X_NAMES.items() if key in environ}
        if not of_x:
            return self._by_forwarded(peer, elements_of(environ.get("HTTP_FORWARDED", "")))
        return Seen(
            client=self.client(peer, of_x.get("FOR", "")),
            scheme=last_scheme(of_x.get("PROTO", "")),
            host=_with_port(_last(of_x.get("HOST", "")), _last(of_x.get("PORT", ""))),
            prefix=clean_prefix(_last(of_x.get("PREFIX", ""))) or "",
            is_by_proxy=True,
        )

    def _by_forwarded(self, peer: str, elements: list[dict[str, str]]) -> Seen:
        """Each element names whom its writer was asked by: the last one that a trusted proxy wrote tells of the client."""
        client, told = peer, dict[str, str]()
        while elements and self.trusts(client):
            told = elements.pop()
            address = parse_address(told.get("for", ""))
            if address is None:
                break
            client = str(address)
        scheme = last_scheme(told.get("proto", ""))
        return Seen(client, scheme=scheme, host=told.get("host", ""), is_by_proxy=True)

    def _has(self, address: Address | None) -> bool:
        return address is not None and any(address in network for network in self._networks)


_X_NAMES = {name: f"HTTP_X_FORWARDED_{name}" for name in ("FOR", "HOST", "PORT", "PREFIX", "PROTO")}


def elements_of(forwarded: str) -> list[dict[str, str]]:
    """The elements of `Forwarded`, the nearest proxy's last; none where a part of it is malformed."""
    elements: list[dict[str, str]] = [{}]
    at = 0
    while at < len(forwarded):
        found = _PAIR.match(forwarded, at)
        if found is None:
            return []
        if found[1]:
            quoted = re.sub(r"\\(.)", r"\1", found[3] or "")
            elements[-1][found[1].lower()] = found[2] or quoted
        if found[4] == ",":
            elements.append({})
        at = found.end()
    return [each for each in elements if each][-ENTRIES_MAX:]


def _last(values: str) -> str:
    """The nearest proxy's word of a list to which each may have added its own."""
    return values.rpartition(",")[2].strip()


def _with_port(host: str, port: str) -> str:
    """A host with the port that is told beside it, where it has none of its own."""
    has_port = ":" in host.rpartition("]")[2]
    return (
        f"{host}:{port}" if host and port.isdigit() and port not in _DEFAULT_PORTS and not has_port else host
    )


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
    scheme = _last(forwarded_proto).lower()
    return scheme if scheme in ("http", "https") else ""
