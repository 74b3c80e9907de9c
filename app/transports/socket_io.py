"""Socket.IO 5 over Engine.IO 4, by Flask-SocketIO: the protocol is the library's, the subscription is ours.

    CONNECT from the client -> `connect` handler reads auth and may refuse
    CONNECT from the server -> carries `position` and `pid`  (our packet class)
    directly behind it      -> subscribe, replay, then live  (our client manager)

The library's documented extension points carry all of it: `json`, `serializer`, `client_manager`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import flask
import socketio
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
from app.serving.peer import cut, peer_socket
from app.serving.websocket import websocket_class
from app.transports.base import parse_topics

logger = logging.getLogger("siar.socketio")

INCOMING_BYTES_MAX = 65_536
"""Clients only say hello: a larger packet is not meant for us."""

NAMESPACE = "/"


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

    def start(self, replay: Replay) -> None:
        """The gap if there is one, then what was missed; CONNECT has been sent."""
        if replay.gap is not None:
            self._emit(EVENT_GAP, EncodedJSON(encode_json(replay.gap.wire())), str(replay.gap.position))
        for notification in replay.notifications:
            self._emit(EVENT_NOTIFICATION, notification.json, notification.id)

    def _emit(self, event: str, data: EncodedJSON, id: str) -> None:
        self._transport.emit(event, (data, id) if self.recovers else (data,), [self.sid])

    def close(self, reason: str) -> None:
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
        self.socketio = SocketIO(
            app,
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
        engineio.on("message", self._message)
        self.socketio.on_event("connect", self._connect)
        self.socketio.on_event("disconnect", self._disconnect)
        fanout.register(TRANSPORT_SOCKETIO, self)

    def send(self, notification: Notification, connections: Sequence[Connection]) -> None:
        """One packet, encoded once by the library, into the queue of each; a second one for those that recover."""
        plain: list[str] = []
        recovering: list[str] = []
        for connection in cast(Sequence[SocketIoConnection], connections):
            if self._queued(connection.sid) >= self._queue_max:
                self._fanout.unsubscribe(connection, CLOSED_SLOW)
                connection.close(CLOSED_SLOW)
            else:
                (recovering if connection.recovers else plain).append(connection.sid)
        if plain:
            self.emit(EVENT_NOTIFICATION, (notification.json,), plain)
        if recovering:
            self.emit(EVENT_NOTIFICATION, (notification.json, notification.id), recovering)

    def emit(self, event: str, arguments: tuple[str, ...], sids: list[str]) -> None:
        """An event; an argument that is JSON already goes out as it is."""
        self._server.emit(event, arguments, to=sids, namespace=NAMESPACE)

    def end(self, sid: str, reason: str) -> None:
        """Close a client's connection without waiting for it."""
        if reason == CLOSED_SLOW:
            environ = self._server.get_environ(sid) or {}
            cut(peer_socket(environ))
        self._server.start_background_task(self._server.disconnect, sid)

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
            if self._broker.reaches(since):
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
            connection.close(CLOSED_DRAIN)

    def _connect(self, auth: object = None) -> None:
        sid = flask.request.sid  # type: ignore[attr-defined]
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


class _Manager(socketio.Manager):  # type: ignore[misc]
    """The library's book of clients, which also says when CONNECT has been answered."""

    def __init__(self, transport: SocketIoTransport) -> None:
        super().__init__()
        self._transport = transport

    def connect(self, sid: str, namespace: str) -> Any:
        """Called by the library directly behind the CONNECT packet."""
        connected = super().connect(sid, namespace)
        if namespace == NAMESPACE:
            self._transport.connected(sid)
        return connected


def _packet_class(transport: SocketIoTransport) -> type[protocol.Packet]:
    class SiarPacket(protocol.Packet):  # type: ignore[misc]
        """The library's packet; CONNECT to a client carries position and pid too."""

        data: Any

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
