"""Original request behind a proxy, read from forwarding headers of proxies that the operator named.

Two families of headers describe it: `X-Forwarded-For`, `-Host`, `-Port`, `-Proto` and `-Prefix`, and `Forwarded` (RFC
7239). A proxy writes one family and passes the other on as the client sent it. Therefore they are never mixed: if any
header of the first family is present, the second is not read.
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
"""Greatest length of a chain of proxies that is examined; real chains are shorter."""

_WITH_PORT = re.compile(r"(?:\[(?P<v6>[^\]]+)\]|(?P<v4>[0-9.]+))(?::(?:[0-9]{1,5}|_[A-Za-z0-9._-]+))?")
"""`1.2.3.4:567` and `[::1]:567`, as some proxies write it; a port may be obfuscated (RFC 7239, section 6.3)."""

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"

_PAIR = re.compile(rf'[ \t]*(?:({_TOKEN})=(?:({_TOKEN})|"((?:[^"\\]|\\.)*)"))?[ \t]*([;,]|$)')
"""One `name=value` of `Forwarded` and its separator from the next one (RFC 7239, section 4)."""

_DEFAULT_PORTS = ("80", "443")
"""Ports that are left out of an address; a proxy behind one that terminates TLS reports the wrong one of the two."""


@dataclass(frozen=True, slots=True)
class OriginalRequest:
    """A request as the client sent it, according to trusted proxies; fields that they do not report are empty."""

    client: str
    """Address of the client; the peer's address, if no other is named."""
    scheme: str = ""
    host: str = ""
    prefix: str = ""
    is_by_proxy: bool = False
    """True if a trusted proxy passed the request on."""


def parse_network(text: str) -> Network:
    """Parse an address (`10.0.0.7`) or network (`10.0.0.0/24`). Raises `ValueError`."""
    return ipaddress.ip_network(text)


def parse_address(text: str) -> Address | None:
    """Parse an address, with or without port; IPv4-mapped IPv6 becomes IPv4. `None` if it is not an address."""
    found = _WITH_PORT.fullmatch(text)
    try:
        address = ipaddress.ip_address((found["v6"] or found["v4"]) if found else text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


class Proxies:
    """The set of trusted proxies."""

    def __init__(self, networks: Iterable[str]) -> None:
        self._networks = tuple(parse_network(each) for each in networks)

    def __bool__(self) -> bool:
        return bool(self._networks)

    def trusts(self, address: str) -> bool:
        """Return True if `address` belongs to a trusted proxy."""
        return self._is_trusted(parse_address(address))

    def client(self, peer: str, forwarded_for: str) -> str:
        """Return the client's address: the rightmost one in the chain that is not a trusted proxy.

        Trusted proxies append on the right. Entries to the left of the first untrusted address come from that untrusted
        host and are ignored, and so is the rest of the chain at an entry that is not an address.
        """
        client = peer
        entries = [each.strip() for each in forwarded_for.split(",")[-ENTRIES_MAX:] if each.strip()]
        while entries and self.trusts(client):
            address = parse_address(entries.pop())
            if address is None:
                break
            client = str(address)
        return client

    def original_request(self, peer: str, environ: Mapping[str, str]) -> OriginalRequest:
        """Return the request as the client sent it. `environ` has the headers under their WSGI names."""
        if not self.trusts(peer):
            return OriginalRequest(peer)
        x_headers = {name: environ[key] for name, key in _X_NAMES.items() if key in environ}
        if not x_headers:
            return self._by_forwarded(peer, elements_of(environ.get("HTTP_FORWARDED", "")))
        return OriginalRequest(
            client=self.client(peer, x_headers.get("FOR", "")),
            scheme=last_scheme(x_headers.get("PROTO", "")),
            host=_with_port(_last(x_headers.get("HOST", "")), _last(x_headers.get("PORT", ""))),
            prefix=clean_prefix(_last(x_headers.get("PREFIX", ""))) or "",
            is_by_proxy=True,
        )

    def _by_forwarded(self, peer: str, elements: list[dict[str, str]]) -> OriginalRequest:
        """Read `Forwarded`. Each element names its writer's peer; the last one written by a trusted proxy has the client."""
        client, element = peer, dict[str, str]()
        while elements and self.trusts(client):
            element = elements.pop()
            address = parse_address(element.get("for", ""))
            if address is None:
                break
            client = str(address)
        scheme = last_scheme(element.get("proto", ""))
        return OriginalRequest(client, scheme=scheme, host=element.get("host", ""), is_by_proxy=True)

    def _is_trusted(self, address: Address | None) -> bool:
        return address is not None and any(address in network for network in self._networks)


_X_NAMES = {name: f"HTTP_X_FORWARDED_{name}" for name in ("FOR", "HOST", "PORT", "PREFIX", "PROTO")}


def elements_of(forwarded: str) -> list[dict[str, str]]:
    """Parse the elements of `Forwarded`, the nearest proxy's last; an empty list if any part is malformed."""
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
    """Return the nearest proxy's entry of a list to which each proxy may have appended."""
    return values.rpartition(",")[2].strip()


def _with_port(host: str, port: str) -> str:
    """Add a separately reported port to a host that has none; default ports are left out."""
    has_port = ":" in host.rpartition("]")[2]
    return (
        f"{host}:{port}" if host and port.isdigit() and port not in _DEFAULT_PORTS and not has_port else host
    )


def exempt_from_limits(trusted_proxies: Iterable[str]) -> Callable[[str], bool]:
    """Return a predicate for peers that are exempt from limits per address: proxies if any are named, else loopback.

    All clients of a proxy share its address. With a proxy on this machine, a loopback peer is not necessarily local.
    """
    proxies = Proxies(trusted_proxies)

    @functools.lru_cache(ADDRESSES_KEPT_MAX)
    def is_exempt(peer: str) -> bool:
        if proxies:
            return proxies.trusts(peer)
        address = parse_address(peer)
        return address is None or address.is_loopback  # A Unix socket's peer has no address.

    return is_exempt


def last_scheme(forwarded_proto: str) -> str:
    """Return `http` or `https` as the nearest proxy reports it; empty for anything else."""
    scheme = _last(forwarded_proto).lower()
    return scheme if scheme in ("http", "https") else ""
