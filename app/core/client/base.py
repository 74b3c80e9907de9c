"""What a built-in client says and hears, without any input or output of its own.

    connect -> opening() -> bytes out       bytes in -> hear() -> notifications, and bytes out in `outgoing`

Built-in clients speak the public endpoints like anyone else, and label themselves as simulated.
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
"""Why a connection was lost: a whole stream says that it is over, a torn one does not."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a client asks for."""

    url: str
    """Base URL of the server, or of a proxy before it."""
    topics: Sequence[str] = ()
    """Empty: all."""
    last_event_id: str | None = None
    """Where to resume; `None`: from now on."""
    fanout: str | None = None
    """The way of fan-out to ask for; `None`: the server's own."""
    user_agent: str = USER_AGENT

    @property
    def host(self) -> str:
        """The `Host` header."""
        return urlsplit(self.url).netloc

    def target(self, path: str, query: Sequence[tuple[str, str]]) -> str:
        """A request's target below the base URL."""
        text = urlencode([*query, *([("fanout", self.fanout)] if self.fanout else [])])
        return urlsplit(self.url).path.rstrip("/") + path + (f"?{text}" if text else "")


class ClientProtocol(Protocol):
    """One connection's side of a conversation. `receive_data` raises `MalformedFrame` when the peer breaks the protocol."""

    position: str | None
    """The server's position when it let this client in; `None` until then."""
    outgoing: bytearray
    """What is to be sent; whoever sends it takes it out."""

    @property
    def ended(self) -> bool:
        """Whether the peer said that nothing more will come."""
        ...

    @property
    def is_idle(self) -> bool:
        """Whether the client is in, and what comes next begins a new notification: nothing is half decoded."""
        ...

    def opening(self) -> bytes:
        """The first bytes to send."""
        ...

    def receive_data(self, data: bytes) -> list[dict[str, Any]]:
        """The notifications that `data` completes, as JSON objects."""
        ...


def json_object(text: str) -> dict[str, Any]:
    """The object that `text` writes. Raises `MalformedFrame` for anything else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MalformedFrame("What should be a JSON object is no JSON.") from error
    if not isinstance(value, dict):
        raise MalformedFrame("What should be a JSON object is another kind of JSON.")
    return value
