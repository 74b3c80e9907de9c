"""Socket.IO 5 over Engine.IO 4, by Flask-SocketIO: the protocol is the library's, the subscription is ours.

    CONNECT from the client -> `connect` handler reads auth and may refuse
    CONNECT from the server -> carries `position` and `pid`  (our packet class)
    directly behind it      -> subscribe, replay, then live  (our client manager)

The library's documented extension points carry all of it: `json`, `serializer`, `client_manager`.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator, Sequence
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
from app.core.admission import Admission
from app.core.errors import Malformed
from app.core.frames import Opcode, encode_frame
from app.core.notification import EncodedJSON, Notification, WireJSON, encode_json
from app.core.position import Position, position_or_unknown
from app.core.wire import EVENT_GAP, EVENT_NOTIFICATION, TRANSPORT_SOCKETIO
from app.fanout import CLOSED_BY_CLIENT, CLOSED_LOST, CLOSED_SLOW, Connection, Fanout
from app.serving import mode
from app.serving.broadcaster import Broadcaster
from app.serving.direct_websocket import GOING_AWAY, WebSocketOutlet, direct_websocket
from app.serving.engine_entry import WebSocketEntry
from app.serving.engine_limits import CONNECT_TIMEOUT_S, IncomingLimits
from app.serving.engine_server import EngineServer
from app.serving.engine_session import EngineSession
from app.serving.socketio_protocol import StrictPacket, conform
from app.serving.takeover import SocketOptions, Taken
from app.serving.websocket import stock_websocket
from app.transports.base import REPLAY_WRITE_BYTES, parse_topics

logger = logging.getLogger("siar.socketio")

NAMESPACE = "/"

FORM_PLAIN = "plain"
FORM_RECOVERING = "recovering"
"""Two frames of a notification: for those who asked for recovery its id is a second argument."""

PACKETS_KEPT_MAX = 20_000
"""As many as both rings of history may hold together, within their bounds of bytes."""


class SocketIoConnection:
    """One client's subscription; what it gets goes through its session, packet by packet (stock)."""

    __slots__ = ("_transport", "channel", "pid", "recovers", "replayed_count", "sid", "since", "wanted")

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
        self.channel: SocketIoChannel | None = None
        """The WebSocket that is subscribed in its place."""

    @property
    def form(self) -> str:
        """Which framing its notifications have."""
        return FORM_RECOVERING if self.recovers else FORM_PLAIN

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


class SocketIoChannel(WebSocketOutlet):
    """A WebSocket of ours: the session's channel, and what the fan-out writes to."""

    __slots__ = ("_transport", "subscription")

    def __init__(
        self, transport: SocketIoTransport, broadcaster: Broadcaster, taken: Taken, entry: WebSocketEntry
    ) -> None:
        super().__init__(
            broadcaster, taken, entry, message_bytes_max=entry.session.server.limits.packet_bytes_max
        )
        self._transport = transport
        self.subscription: SocketIoConnection | None = None

    @property
    def wanted(self) -> Filter:
        """What its subscription wants."""
        assert self.subscription is not None
        return self.subscription.wanted

    def start(self, replay: Replay) -> None:
        """The gap if there is one, then what was missed; CONNECT has been sent."""
        assert self.subscription is not None
        form = self.subscription.form
        gap = b""
        if replay.gap is not None:
            gap = event_frame(EVENT_GAP, encode_json(replay.gap.wire()), str(replay.gap.position), form=form)
        self.write(gap, later=frames_of(replay.notifications, form) if replay.notifications else None)

    def end(self, reason: str) -> None:
        """Say goodbye, or cut off a client that does not read."""
        if reason == CLOSED_SLOW:
            self.drop(reason)
        else:
            self.finish(GOING_AWAY, reason)

    def on_left(self, reason: str) -> None:
        """Whoever ended it; the session is told afterwards."""
        if self.subscription is not None:
            self._transport.left(self, reason)

    def on_upgraded(self) -> None:
        """It has taken the place of polling."""
        self._transport.upgraded(self)


class SocketIoTransport:
    """Socket.IO on a Flask application."""

    def __init__(
        self,
        app: flask.Flask,
        fanout: Fanout,
        broker: Broker,
        *,
        ping_interval_s: float,
        ping_timeout_s: float,
        queue_max: int,
        compression: bool,
        polling: bool,
        direct: bool,
        socket_options: SocketOptions,
        admission: Admission,
        limits: IncomingLimits,
        topics_max: int,
        identify: Callable[[], str | None],
    ) -> None:
        self._fanout = fanout
        self._broker = broker
        self._queue_max = queue_max
        self._topics_max = topics_max
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
            manage_session=False,
        )
        self._server: socketio.Server = self.socketio.server
        websocket = stock_websocket(compression=compression, options=socket_options)
        if direct and not compression:  # Compressed, each client's copy is its own.
            websocket = direct_websocket(
                lambda taken, entry: SocketIoChannel(self, fanout.broadcaster, taken, entry),
                options=socket_options,
                otherwise=websocket,
            )
        self._engine = EngineServer(
            websocket=websocket,
            connect_timeout_s=CONNECT_TIMEOUT_S,
            transports=None if polling else ["websocket"],
            async_mode=mode.current(),
            json=WireJSON,
            cors_allowed_origins=[],  # Origin is checked in one place for all endpoints: web/guard.py
            http_compression=compression,
            ping_interval=ping_interval_s,
            ping_timeout=ping_timeout_s,
            max_http_buffer_size=limits.packet_bytes_max,
            limits=limits,
            admission=admission,
            logger=_quiet_logger(),
        )
        conform(self._server, self._engine)
        self.socketio.on_event("connect", self._connect)
        self.socketio.on_event("disconnect", self._disconnect)
        fanout.register(TRANSPORT_SOCKETIO, self)

    def frame(self, notification: Notification, form: str) -> bytes:
        """The whole WebSocket frame of a notification, the same for every client of `form`."""
        return event_frame(EVENT_NOTIFICATION, notification.json, notification.id, form=form)

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

    def frame_notice(self, event: str, json: str) -> bytes:
        """The same frame for everyone: without an id behind it, nobody's offset moves."""
        return event_frame(event, json, "", form=FORM_PLAIN)

    def send_notice(self, event: str, json: str, connections: Sequence[Connection]) -> None:
        """The same through the library's queues."""
        sids = [each.sid for each in cast(Sequence[SocketIoConnection], connections)]
        self.emit(event, (EncodedJSON(json),), sids)

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
        session = self._session_of(sid)
        if session is not None and reason == CLOSED_SLOW:
            session.cut()
        elif session is not None:
            # A WebSocket's own close is enough, and upon Engine.IO's, python-socketio's client does not come back.
            session.close(abort=session.channel is not None)

    def end_all(self) -> None:
        """Close every session, also those that never subscribed."""
        self._engine.disconnect()

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
        if connection.pid is not None:
            is_known = self._sessions.resume(connection.pid) is not None
            connection.since = connection.since or self._sessions.came_in_at(connection.pid)
            if is_known and self._broker.reaches(connection.since, connection.wanted):
                return connection.pid
        connection.pid = self._sessions.begin(connection.since or position)
        return connection.pid

    def connected(self, sid: str) -> None:
        """CONNECT has been sent: from here on the client gets what it wants."""
        connection = self._connections.get(sid)
        if connection is None:
            return
        session = self._session_of(sid)
        channel = None if session is None else session.channel
        if isinstance(channel, SocketIoChannel):
            channel.subscription, connection.channel = connection, channel
            self._fanout.subscribe(channel, connection.since, connection.form)
        else:
            self._fanout.subscribe(connection, connection.since)

    def upgraded(self, channel: SocketIoChannel) -> None:
        """A client that subscribed while it polled has a WebSocket now: from here on it is written to directly."""
        sid = self._server.manager.sid_from_eio_sid(channel.session.sid, NAMESPACE)
        connection = self._connections.get(sid)
        if connection is not None and connection.channel is None:
            channel.subscription, connection.channel = connection, channel
            self._fanout.move(connection, channel, connection.form)

    def left(self, channel: SocketIoChannel, reason: str) -> None:
        """A WebSocket has ended."""
        self._fanout.unsubscribe(channel, reason)

    def _connect(self, auth: object = None) -> None:
        sid = flask.request.sid  # type: ignore[attr-defined]
        try:
            asked = _read_auth(auth, self._identify(), topics_max=self._topics_max)
        except Malformed as error:
            raise Refused(str(error)) from error
        self._connections[sid] = SocketIoConnection(self, sid, asked)

    def _disconnect(self, reason: object = None) -> None:
        connection = self._connections.pop(flask.request.sid, None)  # type: ignore[attr-defined]
        if connection is not None:
            closed = CLOSED_LOST if reason == self._engine.reason.PING_TIMEOUT else CLOSED_BY_CLIENT
            if connection.channel is not None:
                self._fanout.unsubscribe(connection.channel, closed)
            # Also with a channel: one that broke while it took the place of polling never did.
            self._fanout.unsubscribe(connection, closed)
            if connection.pid is not None:
                self._sessions.leave(connection.pid)

    def _queued(self, sid: str) -> int:
        session = self._session_of(sid)
        return 0 if session is None else session.waiting_count

    def _session_of(self, sid: str) -> EngineSession | None:
        engineio_sid = self._server.manager.eio_sid_from_sid(sid, NAMESPACE)
        found: EngineSession | None = self._engine.sockets.get(engineio_sid)
        return found


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


def _read_auth(auth: object, device: str | None, *, topics_max: int) -> Asked:
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
    wanted = Filter(TRANSPORT_SOCKETIO, parse_topics(topics or (), count_max=topics_max), device)
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


def event_frame(event: str, json: str, id: str, *, form: str) -> bytes:
    """The WebSocket frame of an event in the default namespace, its one argument being JSON already.

    `form` says whether the id follows it, as the protocol's connection state recovery has it.
    """
    offset = f',"{id}"' if form == FORM_RECOVERING else ""
    packet = f'{engineio_packet.MESSAGE}{protocol.EVENT}["{event}",{json}{offset}]'
    return encode_frame(Opcode.TEXT, packet.encode(), mask=None)


def frames_of(notifications: Sequence[Notification], form: str) -> Iterator[bytes]:
    """The frames of what was missed, several to a piece."""
    pieces: list[bytes] = []
    size = 0
    for each in notifications:
        pieces.append(event_frame(EVENT_NOTIFICATION, each.json, each.id, form=form))
        size += len(pieces[-1])
        if size >= REPLAY_WRITE_BYTES:
            yield b"".join(pieces)
            pieces, size = [], 0
    if pieces:
        yield b"".join(pieces)


class _Manager(socketio.Manager):  # type: ignore[misc]
    """The library's book of clients, which also says when CONNECT has been answered."""

    def __init__(self, transport: SocketIoTransport) -> None:
        super().__init__()
        self._transport = transport

    def basic_enter_room(
        self, sid: str, namespace: str, room: str | None, eio_sid: str | None = None
    ) -> None:
        """Enter a room, but for that of its own name, which each client has to itself.

        It would take 700 bytes, and the library looks through all rooms whenever a client leaves.
        """
        if room != sid:
            super().basic_enter_room(sid, namespace, room, eio_sid=eio_sid)

    def get_participants(self, namespace: str, room: Any) -> Iterator[tuple[str, str]]:
        """Who is in a room, or in one of several."""
        found: dict[str, str] = {}
        for name in room if isinstance(room, list | tuple) else [room]:
            if name is not None and self.is_sid_room(namespace, name):
                found[name] = self.eio_sid_from_sid(name, namespace)
            else:
                found.update(super().get_participants(namespace, name))
        yield from found.items()

    def get_rooms(self, sid: str, namespace: str) -> list[str]:
        """The rooms of a client."""
        own = [sid] if self.is_sid_room(namespace, sid) else []
        return own + list(super().get_rooms(sid, namespace))

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
    class SiarPacket(StrictPacket):
        """A packet whose CONNECT to a client carries position and pid too."""

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
    found = logging.getLogger("siar.engineio.library")
    if not logger.isEnabledFor(logging.DEBUG):
        found.setLevel(logging.WARNING)  # at "info" it would tell of every packet
    if not any(isinstance(each, _OneLine) for each in found.filters):
        found.addFilter(_OneLine())
    return found
