"""The address that a phone opens to join, as it is shown, told and drawn."""

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
"""The runner asks several times a second, and networks come and go in minutes."""

ALL_ADDRESSES = ("0.0.0.0", "::", "")


def join_url() -> str:
    """Where phones open the page, with the code if they need one."""
    request = flask.request
    lan = _lan_of(clock.monotonic_us() // LAN_KEPT_US)
    root = request.script_root
    base = base_url(services().settings, scheme=request.scheme, host=request.host, root=root, lan=lan)
    query = f"?{urlencode({'code': services().invitation.code})}" if services().settings.join_code else ""
    return f"{base}/{query}"


def base_url(settings: Settings, *, scheme: str, host: str, lan: Sequence[str], root: str = "") -> str:
    """The server as phones reach it, without a slash at the end.

    Under the name by which the operator reached it, which goes somewhere; but a loopback name goes to the phone
    itself, so that then it is the LAN's address. Loopback stays only where the server listens to nothing else.
    `root`: the prefix by which that name leads here. On the LAN's address the server itself knows its own setting only.
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
    """Whether no phone can open it."""
    return is_loopback(urlsplit(url).hostname or "")


def _name_of(host: str) -> str:
    return urlsplit(f"//{host}").hostname or ""
