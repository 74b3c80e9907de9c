"""Interface of a built-in client's protocol: bytes in, notifications out, no I/O of its own.

    connect -> opening() -> bytes out       bytes in -> receive_data() -> notifications, and bytes out in `outgoing`

Built-in clients use the public endpoints as any client does, and label themselves as simulated.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlencode, urlsplit

from app.core.errors import MalformedFrame
from app.core.wire import USER_AGENT

ENDED = "the server ended the stream"
TORN = "the connection ended amid the stream"
"""Reasons for a lost connection. A complete stream announces its end; a torn one does not."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """Parameters of a client's subscription."""

    url: str
    """Base URL of the server, or of a proxy in front of it."""
    topics: Sequence[str] = ()
    """Topics to subscribe to; empty: all."""
    last_event_id: str | None = None
    """Position from which to resume; `None`: only what is published from now on."""
    fanout: str | None = None
    """Fan-out mode to request; `None`: the server's default."""
    user_agent: str = USER_AGENT

    @property
    def host(self) -> str:
        """Value of the `Host` header."""
        return urlsplit(self.url).netloc

    def target(self, path: str, query: Sequence[tuple[str, str]]) -> str:
        """Return the request target for `path` under the base URL, with `query` and the requested fan-out."""
        text = urlencode([*query, *([("fanout", self.fanout)] if self.fanout else [])])
        return urlsplit(self.url).path.rstrip("/") + path + (f"?{text}" if text else "")


class ClientProtocol(Protocol):
    """Client side of one connection. `receive_data` raises `MalformedFrame` when the peer violates the protocol."""

    position: str | None
    """The server's position when it accepted this client; `None` until then."""
    outgoing: bytearray
    """Bytes to send; the caller clears them after sending."""

    @property
    def ended(self) -> bool:
        """True if the peer announced the end of the stream."""
        ...

    @property
    def is_idle(self) -> bool:
        """True if the client is accepted and nothing is partly decoded: the next byte begins a new notification."""
        ...

    def opening(self) -> bytes:
        """Return the first bytes to send."""
        ...

    def receive_data(self, data: bytes) -> list[dict[str, Any]]:
        """Return the notifications that `data` completes, as JSON objects."""
        ...


def json_object(text: str) -> dict[str, Any]:
    """Parse a JSON object. Raises `MalformedFrame` for any other text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MalformedFrame("What should be a JSON object is no JSON.") from error
    if not isinstance(value, dict):
        raise MalformedFrame("What should be a JSON object is another kind of JSON.")
    return value
