"""Socket.IO on a Flask application, as the fan-out and the library see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import flask
import socketio
from flask_socketio import ConnectionRefusedError as Refused
from flask_socketio import SocketIO

from app.core.errors import Malformed
from app.core.notification import EncodedJSON, Notification, WireJSON
from app.core.position import Position
from app.core.wire import EVENT_NOTIFICATION, TRANSPORT_SOCKETIO
from app.server.broker.base import Broker
from app.server.fanout.closed import CLOSED_BY_CLIENT, CLOSED_LOST, CLOSED_SLOW, Closed
from app.server.fanout.fanout import Connection, Fanout
from app.server.transports.socket_io.connect_request import read_auth
from app.server.transports.socket_io.connections import SocketIoChannel, SocketIoConnection
from app.server.transports.socket_io.engine.direct_websocket import direct_websocket
from app.server.transports.socket_io.engine.limits import CONNECT_TIMEOUT_S, IncomingLimits
from app.server.transports.socket_io.engine.server import Compresses, EngineServer
from app.server.transports.socket_io.engine.session import EngineSession
from app.server.transports.socket_io.engine.websocket import stock_websocket
from app.server.transports.socket_io.entrance import Entrance
from app.server.transports.socket_io.frames import FORM_PLAIN, NAMESPACE, event_frame
from app.server.transports.socket_io.library import Manager, packet_class, quiet_logger
from app.server.transports.socket_io.packets import MissedPackets
from app.server.transports.socket_io.protocol import conform
from app.server.transports.socket_io.recovery import RecoverableSession, session_of
from app.server.wsgi import mode
from app.server.wsgi.admission import Admission
from app.server.wsgi.takeover import SocketOptions


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
        compresses: Compresses,
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
        self._missed = MissedPackets()
        self.socketio = SocketIO(
            app,
            async_handlers=False,  # a stranger's event must neither cost a green thread nor leave our `try`
            async_mode=mode.current(),  # always said: the library would guess from what is installed
            json=WireJSON,
            serializer=packet_class(self.on_connect_packet),
            client_manager=Manager(connected=self.connected, forget=self.forget),
            manage_session=False,
        )
        app.wsgi_app = Entrance(self.socketio.sockio_mw)  # type: ignore[method-assign]
        self._server: socketio.Server = self.socketio.server
        websocket = stock_websocket(compresses=compresses, options=socket_options)
        if direct:
            websocket = direct_websocket(
                lambda taken, entry: SocketIoChannel(self, fanout.flusher, taken, entry),
                compresses=compresses,
                options=socket_options,
                otherwise=websocket,
            )
        self._engine = EngineServer(
            websocket=websocket,
            connect_timeout_s=CONNECT_TIMEOUT_S,
            transports=None if polling else ["websocket"],
            async_mode=mode.current(),
            json=WireJSON,
            cors_allowed_origins=[],  # Origin is checked in one place for all endpoints: server/web/guard.py
            compresses=compresses,
            ping_interval=ping_interval_s,
            ping_timeout=ping_timeout_s,
            max_http_buffer_size=limits.packet_bytes_max,
            limits=limits,
            admission=admission,
            logger=quiet_logger(),
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

    def frame_notice(self, event: str, json: str, form: str) -> bytes:
        """The same frame for everyone: without an id behind it, nobody's offset moves."""
        # Not compressed for anyone: a message may be, and need not.
        return event_frame(event, json, "", form=FORM_PLAIN)

    def send_notice(self, event: str, json: str, connections: Sequence[Connection]) -> None:
        """The same through the library's queues."""
        sids = [each.sid for each in cast(Sequence[SocketIoConnection], connections)]
        self.emit(event, (EncodedJSON(json),), sids)

    def emit(self, event: str, arguments: tuple[str, ...], sids: list[str]) -> None:
        """An event; an argument that is JSON already goes out as it is."""
        self._server.emit(event, arguments, to=sids, namespace=NAMESPACE)

    def replay(self, sid: str, notifications: Sequence[Notification], *, recovers: bool) -> None:
        """Queue what a client missed, in packets that all who miss the same share. Under the broker's lock."""
        engineio_sid = self._server.manager.eio_sid_from_sid(sid, NAMESPACE)
        if engineio_sid is None:
            return  # It left meanwhile; the library would log each of them.
        for notification in notifications:
            self._server._send_eio_packet(engineio_sid, self._missed.of(notification, recovers=recovers))

    def is_deflated(self, sid: str) -> bool:
        """Whether the library's WebSocket compresses for a client."""
        session = self._session_of(sid)
        return session is not None and session.is_deflated

    def end(self, sid: str, reason: Closed) -> None:
        """Close a client's connection without waiting for it.

        The Engine.IO session, not the namespace: of a Socket.IO DISCONNECT the official client makes "io server
        disconnect" and does not come back, while our clients are meant to, and resume.
        """
        session = self._session_of(sid)
        if session is not None and reason == CLOSED_SLOW:
            session.cut()
        elif session is not None:
            session.let_go()

    def end_all(self) -> None:
        """Close every session, also those that never subscribed."""
        for session in list(self._engine.sockets.values()):
            session.let_go()

    def forget(self, sid: str) -> None:
        """A client left before its CONNECT was answered."""
        self._connections.pop(sid, None)

    def on_connect_packet(self, sid: str) -> dict[str, str]:
        """Return the members that the CONNECT packet of `sid` has beside the library's `sid`, or in its place.

        `position`: offsets at or below it are replays. `pid`: the session's name, for who asked; the same as before,
        with the `sid` of before, when everything missed will follow.
        """
        connection = self._connections.get(sid)
        if connection is None:
            return {}
        position = self._broker.position()
        told = {"position": str(position)}
        if connection.recovers:
            session = self._recovered(connection, position)
            told |= {"sid": session.sid, "pid": session.pid}
        if connection.since is None:
            connection.since = position
        return told

    def _recovered(self, connection: SocketIoConnection, position: Position) -> RecoverableSession:
        """The session of before if history reaches back to where its client left off, else a new one."""
        if connection.pid is not None:
            session = session_of(connection.pid)
            connection.since = connection.since or session.came_in_at
            if session.sid and self._broker.reaches(connection.since, connection.wanted):
                return session
        return RecoverableSession(connection.sid, connection.since or position)

    def connected(self, sid: str) -> None:
        """CONNECT has been sent: from here on the client gets what it wants."""
        connection = self._connections.get(sid)
        if connection is None:
            return
        session = self._session_of(sid)
        found = None if session is None else session.channel
        channel = found if isinstance(found, SocketIoChannel) else None
        if channel is not None:
            channel.subscription, connection.channel = connection, channel
            self._fanout.subscribe(channel, connection.since, channel.form)
        else:
            self._fanout.subscribe(connection, connection.since)
        if sid not in self._connections:
            # A shared broker may have been waited for, and the client has left meanwhile: nobody else counts it out.
            self._count_out(connection, channel, CLOSED_BY_CLIENT)

    def upgraded(self, channel: SocketIoChannel) -> None:
        """A client that subscribed while it polled has a WebSocket now: from here on it is written to directly."""
        sid = self._server.manager.sid_from_eio_sid(channel.session.sid, NAMESPACE)
        connection = self._connections.get(sid)
        if connection is not None and connection.channel is None:
            channel.subscription, connection.channel = connection, channel
            self._fanout.move(connection, channel, channel.form)

    def left(self, channel: SocketIoChannel, reason: Closed) -> None:
        """A WebSocket has ended."""
        self._fanout.unsubscribe(channel, reason)

    def _connect(self, auth: object = None) -> None:
        sid = flask.request.sid  # type: ignore[attr-defined]
        if self._queued(sid) > self._queue_max:
            # Who leaves the namespace and joins it again, without taking what it got, would get history each time.
            raise Refused("Take what waits for you before you join again.")
        try:
            query = flask.request.args
            topics = [*query.getlist("topics"), *query.getlist("topic")]
            asked = read_auth(auth, self._identify(), topics_max=self._topics_max, query_topics=topics)
        except Malformed as error:
            raise Refused(str(error)) from error
        self._connections[sid] = SocketIoConnection(self, sid, asked)

    def _disconnect(self, reason: object = None) -> None:
        connection = self._connections.pop(flask.request.sid, None)  # type: ignore[attr-defined]
        if connection is not None:
            closed: Closed = CLOSED_LOST if reason == self._engine.reason.PING_TIMEOUT else CLOSED_BY_CLIENT
            # Each holds the other: the collector of cycles would have to come for them.
            channel, connection.channel = connection.channel, None
            self._count_out(connection, channel, closed)

    def _count_out(
        self, connection: SocketIoConnection, channel: SocketIoChannel | None, reason: Closed
    ) -> None:
        if channel is not None:
            self._fanout.unsubscribe(channel, reason)
        # Also with a channel: one that broke while it took the place of polling never did.
        self._fanout.unsubscribe(connection, reason)

    def _queued(self, sid: str) -> int:
        session = self._session_of(sid)
        return 0 if session is None else session.waiting_count

    def _session_of(self, sid: str) -> EngineSession | None:
        engineio_sid = self._server.manager.eio_sid_from_sid(sid, NAMESPACE)
        found: EngineSession | None = self._engine.sockets.get(engineio_sid)
        return found
