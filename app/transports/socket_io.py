"""Socket.IO 5 over Engine.IO 4, by Flask-SocketIO: the protocol is the library's, the subscription is ours.

    CONNECT from the client -> `connect` handler reads auth and may refuse
    CONNECT from the server -> carries `position` and `pid`  (our packet class)
    directly behind it      -> subscribe, replay, then live  (our client manager)

The library's documented extension points carry all of it: `json`, `serializer`, `client_manager`.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import flask
import socketio
from engineio import packet as engineio_packet
from flask_socketio import ConnectionRefusedError as Refused
from flask_socketio import SocketIO
from socketio import packet as protocol

from app.broker.base import Broker, Filter, Replay
from app.broker.sessions import Sessions
from app.core.errors import Malformed
from app.core.notification import EncodedJSON, Notification, WireJSON, encode_json
from app.core.position import Position, position_or_unknown
from app.core.wire import EVENT_GAP, EVENT_NOTIFICATION, TRANSPORT_SOCKETIO
from app.fanout import CLOSED_BY_CLIENT, CLOSED_DRAIN, CLOSED_SLOW, Connection, Fanout, TooManyConnections
from app.serving import mode
from app.serving.peer import cut
from app.serving.websocket import SOCKET_ATTRIBUTE, websocket_class
from app.transports.base import parse_topics

logger = logging.getLogger("siar.socketio")

INCOMING_BYTES_MAX = 65_536
"""Clients only say hello: a larger packet is not meant for us."""

NAMESPACE = "/"

RESERVED_EVENTS = frozenset(
    {"connect", "connect_error", "disconnect", "disconnecting", "newListener", "removeListener"}
)
"""Names that the protocol keeps for itself; the library would call our handlers for them."""

ATTACHMENTS_MAX = 16
"""Binary attachments of one packet, which the library collects before it looks at them."""

PACKETS_KEPT_MAX = 20_000
"""As many as both rings of history may hold together, within their bounds of bytes."""


class SocketIoConnection:
    """One client's subscription; its queue is the library's."""

    def __init__(self, transport: SocketIoTransport, sid: str, asked: Asked) -> None:
        self._transport = transport
        self.sid = sid
        self.wanted = asked.wanted
        self.since = asked.since
        """Where the client left off; for a new one the position that its CONNECT told."""
        self.recovers = asked.recover
        """Whether events carry their id as a second argument, as the protocol's own recovery has it."""
        self.pid = asked.pid
        """The session to recover; a new one when that is not possible."""
        self.replayed_count = 0
        """Events queued at the start, which are no sign of a slow client."""

    def start(self, replay: Replay) -> None:
        """The gap if there is one, then what was missed; CONNECT has been sent."""
        if replay.gap is not None:
            self._emit(EVENT_GAP, EncodedJSON(encode_json(replay.gap.wire())), str(replay.gap.position))
        self._transport.replay(self.sid, replay.notifications, recovers=self.recovers)
        self.replayed_count = len(replay.notifications) + 1

    def _emit(self, event: str, data: EncodedJSON, id: str) -> None:
        self._transport.emit(event, (data, id) if self.recovers else (data,), [self.sid])

    def end(self, reason: str) -> None:
        """Say goodbye, or cut off a client that does not read."""
        self._transport.end(self.sid, reason)


class SocketIoTransport:
    """Socket.IO on a Flask application."""

    def __init__(
        self,
        app: flask.Flask,
        fanout: Fanout,
        broker: Broker,
        *,
        ping_interval_s: int,
        ping_timeout_s: int,
        queue_max: int,
        compression: bool,
        identify: Callable[[], str | None],
    ) -> None:
        self._fanout = fanout
        self._broker = broker
        self._queue_max = queue_max
        self._identify = identify
        self._connections: dict[str, SocketIoConnection] = {}
        self._sessions = Sessions()
        self._packet = functools.lru_cache(PACKETS_KEPT_MAX)(_packet)
        self.socketio = SocketIO(
            app,
            async_handlers=False,  # a stranger's event must neither cost a green thread nor leave our `try`
            async_mode=mode.current(),  # always said: the library would guess from what is installed
            json=WireJSON,
            serializer=_packet_class(self),
            client_manager=_Manager(self),
            cors_allowed_origins=[],  # Origin is checked in one place for all endpoints: web/guard.py
            http_compression=compression,
            ping_interval=ping_interval_s,
            ping_timeout=ping_timeout_s,
            max_http_buffer_size=INCOMING_BYTES_MAX,
            manage_session=False,
            engineio_logger=_quiet_logger(),
        )
        self._server: socketio.Server = self.socketio.server
        engineio = self._server.eio
        engineio._async = {**engineio._async, "websocket": websocket_class(compression=compression)}
        engineio.disconnect = self._end_session
        engineio.handle_request = _refusing_ended_sessions(engineio.handle_request)
        engineio.on("message", self._message)
        self.socketio.on_event("connect", self._connect)
        self.socketio.on_event("disconnect", self._disconnect)
        fanout.register(TRANSPORT_SOCKETIO, self)

    def frame(self, notification: Notification, form: str) -> bytes:
        """The whole WebSocket frame of a notification; `form` says whether the id is a second argument."""
        raise NotImplementedError

    def send(self, notification: Notification, connections: Sequence[Connection]) -> None:
        """One packet, encoded once by the library, into the queue of each; a second one for those that recover."""
        plain: list[str] = []
        recovering: list[str] = []
        for connection in cast(Sequence[SocketIoConnection], connections):
            if self._queued(connection.sid) >= self._queue_max + connection.replayed_count:
                self._fanout.unsubscribe(connection, CLOSED_SLOW)
                connection.end(CLOSED_SLOW)
            else:
                (recovering if connection.recovers else plain).append(connection.sid)
        if plain:
            self.emit(EVENT_NOTIFICATION, (notification.json,), plain)
        if recovering:
            self.emit(EVENT_NOTIFICATION, (notification.json, notification.id), recovering)

    def emit(self, event: str, arguments: tuple[str, ...], sids: list[str]) -> None:
        """An event; an argument that is JSON already goes out as it is."""
        self._server.emit(event, arguments, to=sids, namespace=NAMESPACE)

    def replay(self, sid: str, notifications: Sequence[Notification], *, recovers: bool) -> None:
        """Queue what a client missed. The packets are shared by all who miss the same: nobody's history is a copy."""
        engineio_sid = self._server.manager.eio_sid_from_sid(sid, NAMESPACE)
        for notification in notifications:
            self._server._send_eio_packet(
                engineio_sid, self._packet(notification.json, notification.id if recovers else None)
            )

    def end(self, sid: str, reason: str) -> None:
        """Close a client's connection without waiting for it.

        The Engine.IO session, not the namespace: of a Socket.IO DISCONNECT the official client makes "io server
        disconnect" and does not come back, while our clients are meant to, and resume.
        """
        engineio_sid = self._server.manager.eio_sid_from_sid(sid, NAMESPACE)
        if reason == CLOSED_SLOW:
            session = self._server.eio.sockets.get(engineio_sid)
            cut(getattr(session, SOCKET_ATTRIBUTE, None))
        self._server.start_background_task(self._end_session, engineio_sid)

    def end_all(self) -> None:
        """Close every session, also those that never subscribed."""
        self._end_session()

    def forget(self, sid: str) -> None:
        """A client left before its CONNECT was answered."""
        self._connections.pop(sid, None)

    def on_connect_packet(self, sid: str) -> dict[str, str]:
        """What the CONNECT packet of `sid` tells beside the library's `sid`.

        `position`: offsets at or below it are replays. `pid`: the session's name, for who asked; the same as before
        when everything missed will follow.
        """
        connection = self._connections.get(sid)
        if connection is None:
            return {}
        position = self._broker.position()
        told = {"position": str(position)}
        if connection.recovers:
            told["pid"] = self._recover(connection, position)
        if connection.since is None:
            connection.since = position
        return told

    def _recover(self, connection: SocketIoConnection, position: Position) -> str:
        """The session's name: the old one if history reaches back to where its client left off."""
        came_in_at = self._sessions.resume(connection.pid) if connection.pid is not None else None
        if connection.pid is not None and came_in_at is not None:
            since = connection.since or came_in_at
            if self._broker.reaches(since, connection.wanted):
                connection.since = since
                return connection.pid
        connection.pid = self._sessions.begin(position)
        return connection.pid

    def connected(self, sid: str) -> None:
        """CONNECT has been sent: from here on the client gets what it wants."""
        connection = self._connections.get(sid)
        if connection is None:
            return
        try:
            self._fanout.subscribe(connection, connection.since)
        except TooManyConnections:
            connection.end(CLOSED_DRAIN)

    def _connect(self, auth: object = None) -> None:
        sid = flask.request.sid  # type: ignore[attr-defined]
        if self._fanout.is_full():
            raise Refused("This server holds as many connections as it may; try again later.")
        try:
            asked = _read_auth(auth, self._identify())
        except Malformed as error:
            raise Refused(str(error)) from error
        self._connections[sid] = SocketIoConnection(self, sid, asked)

    def _disconnect(self, _reason: object = None) -> None:
        connection = self._connections.pop(flask.request.sid, None)  # type: ignore[attr-defined]
        if connection is not None:
            self._fanout.unsubscribe(connection, CLOSED_BY_CLIENT)
            if connection.pid is not None:
                self._sessions.leave(connection.pid)

    def _message(self, engineio_sid: str, data: object) -> None:
        """What the library would log with a traceback ends the connection instead: the peer broke the protocol."""
        if engineio_sid not in self._server.environ:
            return  # a packet behind the one that ended the session
        try:
            self._server._handle_eio_message(engineio_sid, data)
        except Exception as error:  # noqa: BLE001 - whatever a stranger's bytes cause in the library
            logger.info("A Socket.IO peer broke the protocol (%s); closed.", type(error).__name__)
            self._server.start_background_task(self._server.eio.disconnect, engineio_sid)

    def _end_session(self, sid: str | None = None) -> None:
        """Takes the place of the library's `disconnect`, which waits until the peer has taken all that is queued.

        A peer that never does, or a polling one that never comes back, would hold a green thread for ever.
        """
        engineio = self._server.eio
        for each in [sid] if sid is not None else list(engineio.sockets):
            session = engineio.sockets.pop(each, None)
            if session is not None:
                session.close(wait=False, reason=engineio.reason.SERVER_DISCONNECT)

    def _queued(self, sid: str) -> int:
        engineio_sid = self._server.manager.eio_sid_from_sid(sid, NAMESPACE)
        engineio_socket = self._server.eio.sockets.get(engineio_sid)
        return 0 if engineio_socket is None else int(engineio_socket.queue.qsize())


@dataclass(frozen=True, slots=True)
class Asked:
    """What a client asks for in CONNECT."""

    wanted: Filter
    since: Position | None
    """Where it left off."""
    recover: bool
    """Whether it wants the protocol's own connection state recovery."""
    pid: str | None
    """The session that it had."""


def _read_auth(auth: object, device: str | None) -> Asked:
    """The subscription that a client asks for. Raises `Malformed`."""
    if auth is None:
        auth = {}
    if not isinstance(auth, dict):
        raise Malformed("auth must be an object: {last_event_id, topics, recover}.")
    topics = auth.get("topics")
    if topics is not None and not isinstance(topics, list):
        raise Malformed("auth.topics must be a list of topics.")
    recover = auth.get("recover", False)
    if not isinstance(recover, bool):
        raise Malformed("auth.recover must be true or false.")
    pid, offset, last_event_id = (_text(auth, name) for name in ("pid", "offset", "last_event_id"))
    # The client library sends pid and offset by itself: they are newer than what the page put into auth at its start.
    text = offset if recover and pid is not None else last_event_id
    wanted = Filter(TRANSPORT_SOCKETIO, parse_topics(topics or ()), device)
    return Asked(wanted, position_or_unknown(text) if text else None, recover, pid if recover else None)


def _text(auth: dict[str, object], name: str) -> str | None:
    value = auth.get(name)
    if value is not None and not isinstance(value, str):
        raise Malformed(f"auth.{name} must be a string.")
    return value


def _packet(json: EncodedJSON, id: str | None) -> engineio_packet.Packet:
    """The Engine.IO packet of a notification, the same object for everyone; with `id` as second argument or without."""
    arguments = (json,) if id is None else (json, id)
    event = protocol.Packet(protocol.EVENT, data=[EVENT_NOTIFICATION, *arguments], namespace=NAMESPACE)
    event.json = WireJSON
    return engineio_packet.Packet(engineio_packet.MESSAGE, event.encode())


def _refusing_ended_sessions(handle: Callable[..., Any]) -> Callable[..., Any]:
    """python-engineio raises KeyError for a POST to a session that has just ended; a client may well send one."""

    def handle_request(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        try:
            return handle(environ, start_response)
        except KeyError:
            body = b'"The session has ended"'
            start_response(
                "400 Bad Request", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
            )
            return [body]

    return handle_request


class _Manager(socketio.Manager):  # type: ignore[misc]
    """The library's book of clients, which also says when CONNECT has been answered."""

    def __init__(self, transport: SocketIoTransport) -> None:
        super().__init__()
        self._transport = transport

    def connect(self, sid: str, namespace: str) -> Any:
        """Called by the library directly behind the CONNECT packet."""
        connected = super().connect(sid, namespace)
        if self.eio_sid_from_sid(sid, namespace) not in self.server.environ:
            # Sending CONNECT found that the session had timed out: the library has forgotten it, but not this sid.
            self.basic_disconnect(sid, namespace)
            self._transport.forget(sid)
        elif namespace == NAMESPACE:
            self._transport.connected(sid)
        return connected


def _packet_class(transport: SocketIoTransport) -> type[protocol.Packet]:
    class SiarPacket(protocol.Packet):  # type: ignore[misc]
        """The library's packet; CONNECT to a client carries position and pid too."""

        data: Any

        def decode(self, encoded_packet: str) -> Any:
            """Refuse what a client may not send: the protocol's own names as events, and heaps of attachments."""
            attachment_count = super().decode(encoded_packet)
            if self.packet_type in (protocol.EVENT, protocol.BINARY_EVENT):
                name = self.data[0] if isinstance(self.data, list) and self.data else None
                if not isinstance(name, str) or name in RESERVED_EVENTS:
                    raise ValueError("not an event of a client")
            if attachment_count and attachment_count > ATTACHMENTS_MAX:
                raise ValueError("too many attachments")
            return attachment_count

        def encode(self) -> Any:
            if self.packet_type == protocol.CONNECT and isinstance(self.data, dict) and "sid" in self.data:
                self.data = {**self.data, **transport.on_connect_packet(self.data["sid"])}
            return super().encode()

    return SiarPacket


class _OneLine(logging.Filter):
    """Keeps what the library says of a bad peer to one line: a stranger must not fill the log with tracebacks."""

    def filter(self, record: logging.LogRecord) -> bool:
        if not logger.isEnabledFor(logging.DEBUG):
            record.exc_info = None
        return True


def _quiet_logger() -> logging.Logger:
    found = logging.getLogger("siar.engineio")
    if not any(isinstance(each, _OneLine) for each in found.filters):
        found.addFilter(_OneLine())
    return found
