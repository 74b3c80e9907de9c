"""Opening handshake of a WebSocket (RFC 6455, section 4.2): the same checks for direct and stock connections."""

from __future__ import annotations

import re
from typing import Any

from app.core.protocol.websocket import accept_of

VERSION = "13"

NEEDS_VERSION = [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Version", VERSION)]
"""Headers of a 426 response, which say what the client may ask for (RFC 9110, section 15.5.22; RFC 6455, section 4.4)."""

_KEY = re.compile(r"[A-Za-z0-9+/]{22}==", re.ASCII)
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)


def wants_websocket(environ: dict[str, Any]) -> bool:
    """Return whether `Upgrade`, a list (RFC 9110, section 7.8), names the WebSocket protocol."""
    return "websocket" in _list(environ, "HTTP_UPGRADE")


def speaks_our_version(environ: dict[str, Any]) -> bool:
    """Return whether the client asks for version 13, the only standardised one."""
    return bool(environ.get("HTTP_SEC_WEBSOCKET_VERSION", "").strip() == VERSION)


def is_well_formed(environ: dict[str, Any]) -> bool:
    """Return whether the rest of the handshake is valid."""
    offered = offered_subprotocols(environ)
    return (
        wants_websocket(environ)
        and "upgrade" in _list(environ, "HTTP_CONNECTION")
        and _KEY.fullmatch(environ.get("HTTP_SEC_WEBSOCKET_KEY", "")) is not None
        and all(_TOKEN.fullmatch(each) for each in offered)
        and len(set(offered)) == len(offered)
    )


def offered_subprotocols(environ: dict[str, Any]) -> list[str]:
    """Return the subprotocols that the client offers; the first is selected, as in Node's `ws`.

    They have no meaning here, but a browser that offers some closes a connection for which none was selected.
    """
    offered = environ.get("HTTP_SEC_WEBSOCKET_PROTOCOL")
    return [] if offered is None else [each.strip() for each in offered.split(",")]


def answer(environ: dict[str, Any], extension: str | None) -> bytes:
    """Return the response to a handshake that has been checked."""
    lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"]
    lines.append(f"Sec-WebSocket-Accept: {accept_of(environ['HTTP_SEC_WEBSOCKET_KEY'])}")
    lines += [f"Sec-WebSocket-Protocol: {name}" for name in offered_subprotocols(environ)[:1]]
    if extension:
        lines.append(f"Sec-WebSocket-Extensions: {extension}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _list(environ: dict[str, Any], name: str) -> list[str]:
    return [each.strip() for each in environ.get(name, "").lower().split(",")]
