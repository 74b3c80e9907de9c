"""Does a WebSocket of the service's own page get through. Where it does not, Socket.IO falls back to polling, which is another transport to measure."""

from __future__ import annotations

from websockets.exceptions import WebSocketException
from websockets.sync.client import connect
from websockets.typing import Origin

from app.tools.doctor import ask
from app.tools.doctor.finding import Finding, ok, warn
from app.tools.doctor.origin import origin_of

NAME = "upgrade"

_PATH = "/socket.io/?EIO=4&transport=websocket"


def look(url: str) -> Finding:
    """Whether Socket.IO's handshake comes back over a WebSocket."""
    address = "ws" + url.rstrip("/").removeprefix("http") + _PATH
    context = ask.unchecked() if address.startswith("wss") else None
    try:
        with connect(
            address,
            ssl=context,
            origin=Origin(origin_of(url)),
            open_timeout=ask.TIMEOUT_S,
            close_timeout=0.2,
            proxy=None,
        ) as socket:
            hello = socket.recv(timeout=ask.TIMEOUT_S)
    except (OSError, WebSocketException) as trouble:
        return warn(NAME, "refused", url=url, reason=str(trouble) or type(trouble).__name__)
    if not str(hello).startswith("0{"):
        return warn(NAME, "refused", url=url, reason="?")
    return ok(NAME, "open", url=url)
