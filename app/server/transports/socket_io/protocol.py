"""Socket.IO protocol rules that python-socketio does not enforce, applied to a server that Flask-SocketIO constructed.

`conform(server, engine)` is the only entry point: it connects the library's server to our Engine.IO server and checks
what passes between the two.

    engine --message--> SocketIoProtocol.on_message --> the library's handlers
    the library --packet--> send_packet --> CONNECT first, then what the connect handler emitted
"""

from __future__ import annotations

import io
import logging
from typing import Any

import socketio
from engineio.packet import Packet
from socketio import packet as protocol

from app.core.errors import MalformedFrame
from app.server.transports.socket_io.engine.packets import message
from app.server.transports.socket_io.engine.server import EngineServer
from app.server.wsgi.shared_text import shared

logger = logging.getLogger("siar.socketio")

RESERVED_EVENTS = frozenset(
    {"connect", "connect_error", "disconnect", "disconnecting", "newListener", "removeListener"}
)
"""Event names that the protocol reserves; the library would call our handlers for them."""

ATTACHMENTS_MAX = 16
"""Upper bound of binary attachments of one packet; the library collects them all before it checks them."""

EVENTS = (protocol.EVENT, protocol.BINARY_EVENT)
ACKS = (protocol.ACK, protocol.BINARY_ACK)


_HANDSHAKE = frozenset(
    {
        "HTTP_ACCEPT_ENCODING",
        "HTTP_CACHE_CONTROL",
        "HTTP_CONNECTION",
        "HTTP_PRAGMA",
        "HTTP_SEC_WEBSOCKET_EXTENSIONS",
        "HTTP_SEC_WEBSOCKET_KEY",
        "HTTP_SEC_WEBSOCKET_VERSION",
        "HTTP_UPGRADE",
    }
)
"""Headers that only the handshake needs."""

_KEPT = frozenset(
    {
        "PATH_INFO",
        "QUERY_STRING",
        "REMOTE_ADDR",
        "REQUEST_METHOD",
        "SCRIPT_NAME",
        "SERVER_NAME",
        "SERVER_PORT",
        "SERVER_PROTOCOL",
        "flask.app",
        "wsgi.url_scheme",
    }
)

_NOTHING_TO_READ = io.BytesIO()


class StrictPacket(protocol.Packet):  # type: ignore[misc]
    """The library's packet, with checks of the contents when it comes from a client."""

    data: Any

    def decode(self, encoded_packet: str) -> Any:
        """Parse a packet and refuse what a client may not send. Raises `ValueError`."""
        attachment_count = super().decode(encoded_packet)
        if self.packet_type in EVENTS:
            # "The payload is mandatory and MUST be a non-empty array. If that's not the case, then the receiver MUST
            # close the connection."
            name = self.data[0] if isinstance(self.data, list) and self.data else None
            if not isinstance(name, str) or name in RESERVED_EVENTS:
                raise ValueError("not an event of a client")
        elif self.packet_type in ACKS:
            if not isinstance(self.data, list) or self.id is None:
                raise ValueError("an acknowledgement without its array or its id")
        elif self.packet_type != protocol.CONNECT and self.data is not None:
            raise ValueError("a payload where none may be")
        if attachment_count and self.packet_type not in (protocol.BINARY_EVENT, protocol.BINARY_ACK):
            raise ValueError("attachments to a packet that has none")
        if attachment_count > ATTACHMENTS_MAX:
            raise ValueError("too many attachments")
        return attachment_count


def conform(server: socketio.Server, engine: EngineServer) -> None:
    """Make `server` use `engine` and keep to the protocol. Its packet class must be a `StrictPacket`."""
    assert issubclass(server.packet_class, StrictPacket)
    rules = SocketIoProtocol(server, engine)
    server.eio = engine
    server._send_packet = rules.send_packet
    engine.on("connect", rules.on_connect)
    engine.on("message", rules.on_message)
    engine.on("disconnect", rules.on_disconnect)


class SocketIoProtocol:
    """Checks each message of a client, and orders the packets that answer its CONNECT."""

    def __init__(self, server: socketio.Server, engine: EngineServer) -> None:
        self._server = server
        self._engine = engine
        self._send_plainly = server._send_packet

    def on_connect(self, engineio_sid: str, environ: dict[str, Any]) -> None:
        """Pass a new session to the library, which keeps the given environ for the session's lifetime."""
        self._server._handle_eio_connect(engineio_sid, trim_environ(environ))

    def on_message(self, engineio_sid: str, data: str | bytes) -> None:
        """Handle one message. A peer that violates the protocol is disconnected; the library would log and go on."""
        if engineio_sid not in self._server.environ:
            return  # A packet after the one that ended the session.
        try:
            self._dispatch(engineio_sid, data)
        except Exception as error:  # noqa: BLE001 - whatever a peer's bytes cause in the library
            logger.info("A Socket.IO peer broke the protocol (%s: %s); closed.", type(error).__name__, error)
            self._engine.disconnect(engineio_sid)

    def on_disconnect(self, engineio_sid: str, reason: str) -> None:
        """Pass the end of a session to the library, and drop its unfinished binary packet."""
        self._server._handle_eio_disconnect(engineio_sid, reason)
        self._server._binary_packet.pop(engineio_sid, None)

    def send_packet(self, engineio_sid: str, pkt: protocol.Packet) -> None:
        """Replace the library's `_send_packet`: send the answer to a CONNECT first, then the packets held back meanwhile."""
        session = self._engine.sockets.get(engineio_sid)
        if session is None or pkt.packet_type not in (protocol.CONNECT, protocol.CONNECT_ERROR):
            self._send_plainly(engineio_sid, pkt)
            return
        namespace = pkt.namespace or "/"
        refuses = pkt.packet_type == protocol.CONNECT_ERROR
        if not refuses:
            session.has_joined = True
        session.outgoing.release(message(pkt.encode()), unless=_Withdrawn(namespace) if refuses else _nothing)

    def _dispatch(self, engineio_sid: str, data: str | bytes) -> None:
        waiting = self._server._binary_packet.get(engineio_sid)
        if isinstance(data, bytes) is not (waiting is not None):
            raise MalformedFrame("Text came where an attachment was due, or the other way round.")
        if waiting is not None:
            if sum(map(len, waiting.attachments)) + len(data) > self._engine.max_http_buffer_size:
                raise MalformedFrame("The attachments of one packet are too long.")
            if waiting.add_attachment(data):
                del self._server._binary_packet[engineio_sid]
                self._handle(engineio_sid, waiting)
            return
        pkt = self._server.packet_class(encoded_packet=data)
        if pkt.packet_type == protocol.CONNECT:
            self._connect(engineio_sid, pkt.namespace or "/", pkt.data)
            return
        if self._server.manager.sid_from_eio_sid(engineio_sid, pkt.namespace or "/") is None:
            # "If the server does not receive a CONNECT packet first, then it MUST close the connection immediately."
            raise MalformedFrame("A packet came for a namespace that had not been joined.")
        if pkt.attachment_count:
            self._server._binary_packet[engineio_sid] = pkt
        else:
            self._handle(engineio_sid, pkt)

    def _handle(self, engineio_sid: str, pkt: protocol.Packet) -> None:
        server = self._server
        if pkt.packet_type in EVENTS:
            server._handle_event(engineio_sid, pkt.namespace, pkt.id, pkt.data)
        elif pkt.packet_type in ACKS:
            server._handle_ack(engineio_sid, pkt.namespace, pkt.id, pkt.data)
        elif pkt.packet_type == protocol.DISCONNECT:
            server._handle_disconnect(engineio_sid, pkt.namespace, server.reason.CLIENT_DISCONNECT)
        else:
            raise MalformedFrame("A packet came that only servers send, or none that exists.")

    def _connect(self, engineio_sid: str, namespace: str, auth: Any) -> None:
        server = self._server
        is_known = (
            namespace in server.handlers
            or namespace in server.namespace_handlers
            or server.namespaces == "*"
            or namespace in server.namespaces
        )
        if not is_known:
            # The library's message is the string "Unable to connect", where the protocol wants an object [13].
            refusal = server.packet_class(
                protocol.CONNECT_ERROR, data={"message": "Invalid namespace"}, namespace=namespace
            )
            self._send_plainly(engineio_sid, refusal)
            return
        if server.manager.sid_from_eio_sid(engineio_sid, namespace) is not None:
            raise MalformedFrame("A namespace was joined twice.")
        session = self._engine.sockets.get(engineio_sid)
        if session is None:
            return
        # What the connect handler emits would precede CONNECT. `always_connect` avoids that, but answers before the
        # handler has decided [12].
        session.outgoing.hold()
        try:
            server._handle_connect(engineio_sid, namespace, auth)
        finally:
            session.outgoing.release(None, unless=_Withdrawn(namespace))


def trim_environ(environ: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a request's `environ` that is kept for a session's lifetime, for Flask's request contexts.

    Handlers may read address, path, query, cookies and other headers from their `request`. A whole `environ` takes about
    6 KB. Without the values that only the handshake needed, and with equal values of thousands of clients stored once, it
    takes a few hundred bytes.
    """
    found = {
        name: shared(value) if type(value) is str else value
        for name, value in environ.items()
        if name in _KEPT or (name.startswith("HTTP_") and name not in _HANDSHAKE)
    }
    found["wsgi.input"] = _NOTHING_TO_READ
    return found


def _nothing(_pkt: Packet) -> bool:
    return False


class _Withdrawn:
    """Decides for held packets, one after another, whether they belong to a namespace that refused."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._follows = False
        """True if the previous packet was withdrawn, and with it the attachments that follow."""

    def __call__(self, pkt: Packet) -> bool:
        if isinstance(pkt.data, str):
            self._follows = _namespace_of(pkt.data) == self._namespace
        return self._follows


def _namespace_of(text: str) -> str:
    """Return the namespace of a Socket.IO packet: `<type>[<attachments>-][<namespace>,]...`."""
    rest = text[1:].lstrip("0123456789").removeprefix("-")
    return rest.partition(",")[0] if rest.startswith("/") else "/"
