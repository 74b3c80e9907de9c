"""The URL with which phones join, for text, links and QR codes."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from urllib.parse import urlencode, urlsplit

import flask

from app import clock
from app.server.web.current import services
from app.server.wsgi.addresses import bracketed, lan_addresses
from app.settings import Settings, is_loopback

LAN_KEPT_US = 10_000_000
"""Lifetime of the cached LAN addresses: the runner polls several times a second, and networks change within minutes."""

ALL_ADDRESSES = ("0.0.0.0", "::", "")


def join_url() -> str:
    """Return the URL that phones open, with the join code if one is required."""
    request = flask.request
    lan = _lan_of(clock.monotonic_us() // LAN_KEPT_US)
    root = request.script_root
    base = base_url(services().settings, scheme=request.scheme, host=request.host, root=root, lan=lan)
    query = f"?{urlencode({'code': services().invitation.code})}" if services().settings.join_code else ""
    return f"{base}/{query}"


def base_url(settings: Settings, *, scheme: str, host: str, lan: Sequence[str], root: str = "") -> str:
    """Return the URL at which phones reach the server, without a trailing slash.

    This is the host by which the operator reached it. A loopback name would lead a phone to itself, so the LAN address
    replaces it, unless the server listens on loopback only.
    `root` is the prefix below that host; for the LAN address only the server's own setting is known.
    """
    if not is_loopback(_name_of(host)):
        return f"{scheme}://{host}{root}"
    if settings.host in ALL_ADDRESSES and lan:
        return f"{scheme}://{bracketed(lan[0])}:{settings.port}{settings.prefix}"
    if settings.host not in ALL_ADDRESSES and not is_loopback(settings.host):
        return f"{scheme}://{bracketed(settings.host)}:{settings.port}{settings.prefix}"
    return f"{scheme}://{host}{root}"


@functools.lru_cache(1)
def _lan_of(_period: int) -> tuple[str, ...]:
    return tuple(lan_addresses())


def reaches_this_machine_only(url: str) -> bool:
    """Return whether the URL is a loopback one, which no phone can open."""
    return is_loopback(urlsplit(url).hostname or "")


def _name_of(host: str) -> str:
    return urlsplit(f"//{host}").hostname or ""
