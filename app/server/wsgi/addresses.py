"""This machine's addresses as other machines of the LAN reach it."""

from __future__ import annotations

import ipaddress
import re
import socket

import psutil

_INSIDE = re.compile(
    r"(docker|br-|veth|virbr|vmnet|vboxnet|lxc|lxd|cni|flannel|podman|utun|tun|tap|wg|zt|tailscale)"
)
"""Interfaces of containers, virtual machines and tunnels, which phones on the LAN cannot reach."""

_FAR = ("192.0.2.1", 9)
"""An unassigned address (RFC 5737). Nothing is sent: connecting a datagram socket only selects the route."""


def lan_addresses() -> list[str]:
    """Return the IPv4 addresses of this machine on the LAN, the likeliest first; empty without a network."""
    found: list[tuple[int, str]] = []
    default = _address_of_default_route()
    up = {name for name, stats in psutil.net_if_stats().items() if stats.isup}
    for name, addresses in psutil.net_if_addrs().items():
        for each in addresses:
            if each.family != socket.AF_INET or name not in up:
                continue
            address = ipaddress.ip_address(each.address)
            if address.is_loopback or address.is_link_local:
                continue
            rank = 0 if each.address == default else 2 if _INSIDE.match(name) else 1
            found.append((rank, each.address))
    return [address for _rank, address in sorted(found, key=lambda pair: pair[0])]


def bracketed(address: str) -> str:
    """Return an address in the form that a URL needs."""
    return f"[{address}]" if ":" in address else address


def _address_of_default_route() -> str | None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect(_FAR)
        except OSError:  # No default route: a LAN without a router, or no network.
            return None
        return str(sock.getsockname()[0])
