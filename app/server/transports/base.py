"""The interface of a transport, and code that the transports share.

Each promise is kept by every transport. To a client (`tests/contract/test_transport_contract.py` checks these):

1. On admission a client receives the current position; from then on it gets every notification that it wants, once and in
   order.
2. The object is the same on every transport, and in history.
3. A client that names a position gets what it missed, then live notifications; nothing is missing and nothing comes twice.
4. Any well-formed position is accepted, also one of another server.
5. A filter by topic applies to what was missed and to what is live.
6. A malformed filter is refused.
7. The server notices a client that leaves, and frees its place.
8. A server that stops ends the stream, so that its client learns of it.
9. A client that does not read is cut off at the limit; the others are not.

To the server:

10. A frame is made from `notification.json`, which is encoded once for all transports, and once per encoding.
11. `start` writes position, gap and replay, so that a client that breaks off after the first byte can resume.
12. `send`, `send_notice` and `end` neither block nor raise for a client that has left.
13. `end` says goodbye after what is queued; a slow consumer is cut off at once.
14. The end of a connection is passed to `Fanout.unsubscribe` and its place to `Admission.leave`, each once, whichever side
    ended it.

`Framing` and `Connection`, the fan-out's part of the interface, are declared in `app/server/fanout/framing.py`: the fan-out
uses them, and cannot import from here, because transports import the fan-out. `Transport` adds the server's part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import flask

from app.core.errors import Malformed
from app.core.wire import topic_is_well_formed
from app.i18n import refusal
from app.server.broker.base import Broker
from app.server.deliveries import Devices
from app.server.fanout.fanout import Fanout
from app.server.fanout.framing import Framing, StockConnection
from app.server.wsgi.admission import Admission
from app.server.wsgi.takeover import SocketOptions
from app.settings import Settings

REPLAY_WRITE_BYTES = 65_536
"""Approximate size of one write during a replay: large enough for few system calls, small enough to bound memory."""

WsgiApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class Transport(Framing[StockConnection], Protocol[StockConnection]):
    """A transport as the server uses it: the fan-out's part, an endpoint of its own and the server's end.

    A transport inherits from this class. The two methods below suit one whose connections are all opened by its view.
    """

    def wrap(self, app: WsgiApp) -> WsgiApp:
        """Return `app`, or WSGI middleware around it for requests that must not become Flask requests."""
        return app

    def drain(self) -> None:
        """End the connections that have not subscribed; the fan-out ends the others."""
        return


class ServerParts(Protocol):
    """The parts of the server from which a transport is made (`app/server/services.py`)."""

    transports: dict[str, Transport[Any]]

    @property
    def settings(self) -> Settings:
        """The settings."""
        ...

    @property
    def fanout(self) -> Fanout:
        """The subscriptions of this process."""
        ...

    @property
    def broker(self) -> Broker:
        """Order and history."""
        ...

    @property
    def admission(self) -> Admission:
        """The places for connections."""
        ...

    @property
    def devices(self) -> Devices:
        """The registered devices, by their cookies."""
        ...

    @property
    def compresses(self) -> Callable[[dict[str, Any]], bool]:
        """The decision per request whether to compress streams and messages."""
        ...


Made = TypeVar("Made", bound=Transport[Any])


@dataclass(frozen=True, slots=True)
class Registration(Generic[Made]):
    """A transport's entry in the registry: its name, its constructor and its view."""

    name: str
    """The name on the wire (`core/wire.py`)."""
    make: Callable[[flask.Flask, ServerParts], Made]
    view: Callable[[Made], flask.Blueprint] | None = None
    """Makes the blueprint that opens its connections; `None` if `wrap` serves its requests."""

    def attach(self, app: flask.Flask, parts: ServerParts) -> None:
        """Make the transport, and register it with the fan-out and its view with the application."""
        transport = self.make(app, parts)
        parts.transports[self.name] = transport
        parts.fanout.register(self.name, transport)
        if self.view is not None:
            app.register_blueprint(self.view(transport))


def socket_options(settings: Settings) -> SocketOptions:
    """Return the options of every connection's socket."""
    return SocketOptions(settings.send_buffer_bytes, round(settings.peer_timeout_s * 1000))


def parse_topics(topics: Iterable[object], *, count_max: int) -> frozenset[str] | None:
    """Return the set of topics that a client subscribes to, or `None` for all if it names none. Raises `Malformed`."""
    wanted = list(topics)
    if not wanted:
        return None
    if len(wanted) > count_max:
        raise Malformed(refusal("too_many_topics", count=count_max))
    for topic in wanted:
        if not isinstance(topic, str) or not topic_is_well_formed(topic):
            raise Malformed(refusal("topic_malformed"))
    return frozenset(str(topic) for topic in wanted)
