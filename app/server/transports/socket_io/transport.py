"""Socket.IO on a Flask application: connects the fan-out to the library."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import flask
import socketio
from flask_socketio import ConnectionRefusedError as Refused
from flask_socketio import SocketIO

from app.core.errors import Malformed
from app.core.notification import EncodedJSON, Notification, WireJSON
from app.core.position import Position
from app.core.wire import EVENT_NOTIFICATION
from app.server.broker.base import Broker
from app.server.deliveries import COOKIE
from app.server.fanout.closed import CLOSED_BY_CLIENT, CLOSED_LOST, CLOSED_SLOW, Closed
from app.server.fanout.fanout import Fanout
from app.server.transports.base import ServerParts, Transport, WsgiApp, socket_options
from app.server.transports.socket_io.connect_request import read_auth
from app.server.transports.socket_io.connections import SocketIoChannel, SocketIoConnection
from app.server.transports.socket_io.dispatcher import SocketIoDispatcher
from app.server.transports.socket_io.engine.direct_websocket import direct_websocket
from app.server.transports.socket_io.engine.limits import CONNECT_TIMEOUT_S, IncomingLimits
from app.server.transports.socket_io.engine.server import Compresses, EngineServer
from app.server.transports.socket_io.engine.session import EngineSession
from app.server.transports.socket_io.engine.websocket import stock_websocket
from app.server.transports.socket_io.frames import FORM_PLAIN, NAMESPACE, event_frame
from app.server.transports.socket_io.library import ClientManager, packet_class, quiet_logger
from app.server.transports.socket_io.packets import ReplayPackets
from app.server.transports.socket_io.protocol import conform
from app.server.transports.socket_io.recovery import RecoverableSession, parse_pid
from app.server.wsgi import connection_limiter, mode
from app.server.wsgi.admission import Admission
from app.server.wsgi.takeover import SocketOptions

RESUMED_PER_PACKET = 64
"""Notifications of history that count as one incoming packet against the session's rate limit, which also holds where an
address has none: a client behind a proxy must not leave and rejoin with an old position, over and over."""


class SocketIoTransport(Transport[SocketIoConnection]):
    """The Socket.IO transport: frames notifications, subscribes clients after CONNECT, and ends their sessions."""

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
        self._replay_packets = ReplayPackets()
        inner = app.wsgi_app
        self.socketio = SocketIO(
            app,
            async_handlers=False,  # A peer's event must neither cost a green thread nor leave our `try`.
            async_mode=mode.current(),  # Always explicit: the library would guess from the installed packages.
            json=WireJSON,
            serializer=packet_class(self.on_connect_packet),
            client_manager=ClientManager(connected=self.connected, forget=self.forget),
            manage_session=False,
        )
        app.wsgi_app = inner  # type: ignore[method-assign]  # Undoes the library's wrapping; see `wrap`.
        self._server: socketio.Server = self.socketio.server
        websocket = stock_websocket(compresses=compresses, options=socket_options)
        if direct:
            websocket = direct_websocket(
                lambda taken, attempt: SocketIoChannel(self, fanout.flusher, taken, attempt),
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

    def wrap(self, app: WsgiApp) -> SocketIoDispatcher:
        """Return the WSGI application that serves Socket.IO's requests and passes all others to `app`."""
        return SocketIoDispatcher(app, self.socketio.sockio_mw)

    def frame(self, notification: Notification, encoding: str) -> bytes:
        """Return the whole WebSocket frame of a notification, the same for every client of `encoding`."""
        return event_frame(EVENT_NOTIFICATION, notification.json, notification.id, form=encoding)

    def send(self, notification: Notification, connections: Sequence[SocketIoConnection]) -> None:
        """Queue a notification for every connection, in one packet for plain and one for recovering clients."""
        plain: list[str] = []
        recovering: list[str] = []
        for connection in connections:
            if self._waiting_count(connection.sid) >= self._queue_max + connection.replayed_count:
                self._fanout.unsubscribe(connection, CLOSED_SLOW)
                connection.end(CLOSED_SLOW)
            else:
                (recovering if connection.recovers else plain).append(connection.sid)
        if plain:
            self.emit(EVENT_NOTIFICATION, (notification.json,), plain)
        if recovering:
            self.emit(EVENT_NOTIFICATION, (notification.json, notification.id), recovering)

    def frame_notice(self, event: str, json: str, encoding: str) -> bytes:
        """Return an event's frame, the same for everyone. It has no id, so nobody's offset moves."""
        # Uncompressed for everyone, which the protocol allows.
        return event_frame(event, json, "", form=FORM_PLAIN)

    def send_notice(self, event: str, json: str, connections: Sequence[SocketIoConnection]) -> None:
        """Queue an event without an id for every connection."""
        self.emit(event, (EncodedJSON(json),), [each.sid for each in connections])

    def emit(self, event: str, arguments: tuple[str, ...], sids: list[str]) -> None:
        """Emit an event through the library; an argument that is JSON already is sent as it is."""
        self._server.emit(event, arguments, to=sids, namespace=NAMESPACE)

    def replay(self, sid: str, notifications: Sequence[Notification], *, recovers: bool) -> None:
        """Queue the notifications that a client missed, in packets shared by all clients. Under the broker's lock."""
        session = self._session_of(sid)
        if session is not None:  # The client may have left meanwhile.
            session.outgoing.send_all(
                [self._replay_packets.get(each, recovers=recovers) for each in notifications]
            )

    def is_deflated(self, sid: str) -> bool:
        """Return whether the library's WebSocket compresses for a client."""
        session = self._session_of(sid)
        return session is not None and session.is_deflated

    def end(self, sid: str, reason: Closed) -> None:
        """Close a client's connection without waiting for it.

        This ends the Engine.IO session rather than the namespace: the official client takes a Socket.IO DISCONNECT as "io
        server disconnect" and does not reconnect, while our clients are meant to reconnect and resume.
        """
        session = self._session_of(sid)
        if session is not None and reason == CLOSED_SLOW:
            session.cut()
        elif session is not None:
            session.close_for_reconnect()

    def drain(self) -> None:
        """Close every session, including those that never subscribed."""
        for session in list(self._engine.sockets.values()):
            session.close_for_reconnect()

    def forget(self, sid: str) -> None:
        """Remove a client that left before its CONNECT was sent."""
        self._connections.pop(sid, None)

    def on_connect_packet(self, sid: str) -> dict[str, str]:
        """Return the members that the CONNECT packet of `sid` carries in addition to, or in place of, the library's `sid`.

        `position`: offsets at or below it are replays. `pid`: the session's name, if the client asked for recovery. It is
        the previous one, together with the previous `sid`, if everything that the client missed will follow.
        """
        connection = self._connections.get(sid)
        if connection is None:
            return {}
        position = self._broker.position()
        members = {"position": str(position)}
        if connection.recovers:
            session = self._session_to_recover(connection, position)
            members |= {"sid": session.sid, "pid": session.pid}
        if connection.since is None:
            connection.since = position
        return members

    def _session_to_recover(self, connection: SocketIoConnection, position: Position) -> RecoverableSession:
        """Return the previous session if history reaches back to the client's position, else a new one."""
        if connection.pid is not None:
            session = parse_pid(connection.pid)
            connection.since = connection.since or session.joined_at
            if session.sid and self._broker.reaches(connection.since, connection.wanted):
                return session
        return RecoverableSession(connection.sid, connection.since or position)

    def connected(self, sid: str) -> None:
        """Subscribe a client whose CONNECT has been sent."""
        connection = self._connections.get(sid)
        if connection is None:
            return
        session = self._session_of(sid)
        if session is not None and connection.since is not None:
            count = self._broker.newer_count(connection.since)
            session.charge(count // RESUMED_PER_PACKET)
            session.wait_for(count * connection_limiter.RESUMED)
            if self._connections.get(sid) is not connection:
                return  # It left meanwhile.
        found = None if session is None else session.outgoing.channel
        channel = found if isinstance(found, SocketIoChannel) else None
        if channel is not None:
            channel.subscription, connection.channel = connection, channel
            self._fanout.subscribe(channel, connection.since)
        else:
            self._fanout.subscribe(connection, connection.since)
        if sid not in self._connections:
            # Subscribing may wait for a shared broker. The client left meanwhile, so nothing else unsubscribes it.
            self._unsubscribe(connection, channel, CLOSED_BY_CLIENT)

    def upgraded(self, channel: SocketIoChannel) -> None:
        """Move the subscription of a client that polled until now to its WebSocket."""
        sid = self._server.manager.sid_from_eio_sid(channel.session.sid, NAMESPACE)
        connection = self._connections.get(sid)
        if connection is not None and connection.channel is None:
            channel.subscription, connection.channel = connection, channel
            self._fanout.move(connection, channel)

    def left(self, channel: SocketIoChannel, reason: Closed) -> None:
        """Unsubscribe a WebSocket that has ended."""
        self._fanout.unsubscribe(channel, reason)

    def _connect(self, auth: object = None) -> None:
        sid = flask.request.sid  # type: ignore[attr-defined]
        if self._waiting_count(sid) > self._queue_max:
            # Otherwise a client that leaves and rejoins the namespace without reading would be sent history each time.
            raise Refused("Take what waits for you before you join again.")
        try:
            query = flask.request.args
            topics = [*query.getlist("topics"), *query.getlist("topic")]
            request = read_auth(auth, self._identify(), topics_max=self._topics_max, query_topics=topics)
        except Malformed as error:
            raise Refused(str(error)) from error
        self._connections[sid] = SocketIoConnection(self, sid, request)

    def _disconnect(self, reason: object = None) -> None:
        connection = self._connections.pop(flask.request.sid, None)  # type: ignore[attr-defined]
        if connection is not None:
            closed: Closed = CLOSED_LOST if reason == self._engine.reason.PING_TIMEOUT else CLOSED_BY_CLIENT
            # The two refer to each other: break the reference cycle, so that no garbage collection is needed.
            channel, connection.channel = connection.channel, None
            self._unsubscribe(connection, channel, closed)

    def _unsubscribe(
        self, connection: SocketIoConnection, channel: SocketIoChannel | None, reason: Closed
    ) -> None:
        if channel is not None:
            self._fanout.unsubscribe(channel, reason)
        # Also with a channel: if the channel broke during its upgrade, the connection is still subscribed.
        self._fanout.unsubscribe(connection, reason)

    def _waiting_count(self, sid: str) -> int:
        session = self._session_of(sid)
        return 0 if session is None else session.outgoing.waiting_count

    def _session_of(self, sid: str) -> EngineSession | None:
        engineio_sid = self._server.manager.eio_sid_from_sid(sid, NAMESPACE)
        found: EngineSession | None = self._engine.sockets.get(engineio_sid)
        return found


def make(app: flask.Flask, parts: ServerParts) -> SocketIoTransport:
    """Make the transport of a server."""
    settings = parts.settings
    return SocketIoTransport(
        app,
        parts.fanout,
        parts.broker,
        ping_interval_s=settings.ping_interval_s,
        ping_timeout_s=settings.ping_timeout_s,
        queue_max=settings.queue_notifications_max,
        compresses=parts.compresses,
        # All polls of a session must reach the same process, but several workers share one port.
        polling=settings.workers == 1,
        direct=settings.fanout == "direct" and parts.fanout.flusher.loop.is_possible,
        socket_options=socket_options(settings),
        admission=parts.admission,
        limits=IncomingLimits(
            packet_bytes_max=settings.packet_bytes_max,
            packets_per_s=settings.packets_per_s_max,
            packets_burst_max=10 * settings.packets_per_s_max,
        ),
        topics_max=settings.topics_per_client_max,
        identify=lambda: parts.devices.from_cookie(flask.request.cookies.get(COOKIE)),
    )
