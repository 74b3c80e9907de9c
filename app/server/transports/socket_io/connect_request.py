"""Parse the subscription that a client requests in `auth` of its CONNECT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.core.errors import Malformed
from app.core.position import Position, position_or_unknown
from app.core.wire import TRANSPORT_SOCKETIO
from app.server.broker.base import Filter
from app.server.transports.base import parse_topics


@dataclass(frozen=True, slots=True)
class ConnectRequest:
    """A client's request to subscribe, parsed from its CONNECT."""

    wanted: Filter
    since: Position | None
    """Position after which the client wants to resume; `None` for live notifications only."""
    recover: bool
    """True if the client asks for the protocol's own connection state recovery."""
    pid: str | None
    """The client's previous session, if it wants to recover one."""


def read_auth(
    auth: object, device: str | None, *, topics_max: int, query_topics: Sequence[str] = ()
) -> ConnectRequest:
    """Return the requested subscription; `auth` takes precedence over the query. Raises `Malformed`.

    The Java client's `auth` is a map of strings, so a string stands for a list (`"news,sport"`) or a boolean (`"true"`).
    """
    if auth is None:
        auth = {}
    if not isinstance(auth, dict):
        raise Malformed("auth must be an object: {last_event_id, topics, recover}.")
    topics = auth.get("topics")
    if topics is None:
        topics = [topic for each in query_topics for topic in _split(each)]
    elif isinstance(topics, str):
        topics = _split(topics)
    elif not isinstance(topics, list):
        raise Malformed('auth.topics must be a list of topics, or one string: "news,sport".')
    recover = auth.get("recover", False)
    recover = {"true": True, "false": False}.get(recover, recover) if isinstance(recover, str) else recover
    if not isinstance(recover, bool):
        raise Malformed("auth.recover must be true or false.")
    pid, offset, last_event_id = (_text(auth, name) for name in ("pid", "offset", "last_event_id"))
    # The client library sends pid and offset by itself: they are newer than the last_event_id that the page set at start.
    text = offset if recover and pid is not None else last_event_id
    wanted = Filter(TRANSPORT_SOCKETIO, parse_topics(topics, count_max=topics_max), device)
    return ConnectRequest(
        wanted, position_or_unknown(text) if text else None, recover, pid if recover else None
    )


def _split(topics: str) -> list[str]:
    return [each.strip() for each in topics.split(",")]


def _text(auth: dict[str, object], name: str) -> str | None:
    value = auth.get(name)
    if value is not None and not isinstance(value, str):
        raise Malformed(f"auth.{name} must be a string.")
    return value
