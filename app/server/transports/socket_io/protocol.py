"""The Socket.IO rules that python-socketio leaves to nobody, on a server that an extension has constructed.

`conform(server, engine)` is the only seam: it puts our engine under the library's server and stands between the two.

    engine --message--> SocketIoProtocol.on_message --> the library's handlers
    the library --packet--> send_packet --> CONNECT first, then what the connect handler emitted
"""

from __future__ import annotations

import logging
from typing import Any

import socketio
from engineio.packet import Packet
from socketio import packet as protocol

from app.core.errors import MalformedFrame
from app.server.transports.socket_io.engine.packets import message
from app.server.transports.socket_io.engine.server import EngineServer
from app.server.transports.socket_io.trim_environ import kept

logger = logging.getLogger("siar.socketio")

RESERVED_EVENTS = frozenset(
    {"connect", "connect_error", "disconnect", "disconnecting", "newListener", "removeListener"}
)
"""Names that the protocol keeps for itself; the library would call our handlers for them."""

ATTACHMENTS_MAX = 16
"""Binary attachments of one packet, which the library collects before it looks at them."""

EVENTS = (protocol.EVENT, protocol.BINARY_EVENT)
ACKS = (protocol.ACK, protocol.BINARY_ACK)


class StrictPacket(protocol.Packet):  # type: ignore[misc]
    """The library's packet, whose contents are checked when it comes from a client."""

    data: Any

    def decode(self, encoded_packet: str) -> Any:
        """Refuse what a client may not send. Raises `ValueError`."""
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
    """Have `server` speak through `engine`, and by the protocol. Its packet class must be a `StrictPacket`."""
    assert issubclass(server.packet_class, StrictPacket)
    rules = SocketIoProtocol(server, engine)
    server.eio = engine
    server._send_packet = rules.send_packet
    engine.on("connect", rules.on_connect)
    engine.on("message", rules.on_message)
    engine.on("disconnect", rules.on_disconnect)


class SocketIoProtocol:
    """What happens to each message of a client, and to what answers its CONNECT."""

    def __init__(self, server: socketio.Server, engine: EngineServer) -> None:
        self._server = server
        self._engine = engine
        self._send_plainly = server._send_packet

    def on_connect(self, engineio_sid: str, environ: dict[str, Any]) -> None:
        """A session has begun: the library keeps what it is given for as long as it lasts."""
        self._server._handle_eio_connect(engineio_sid, kept(environ))

    def on_message(self, engineio_sid: str, data: str | bytes) -> None:
        """One message; whoever breaks the protocol is closed, where the library logs a traceback and goes on."""
        if engineio_sid not in self._server.environ:
            return  # a packet behind the one that ended the session
        try:
            self._dispatch(engineio_sid, data)
        except Exception as error:  # noqa: BLE001 - whatever a stranger's bytes cause in the library
            logger.info("A Socket.IO peer broke the protocol (%s: %s); closed.", type(error).__name__, error)
            self._engine.disconnect(engineio_sid)

    def on_disconnect(self, engineio_sid: str, reason: str) -> None:
        """The session has ended."""
        self._server._handle_eio_disconnect(engineio_sid, reason)
        self._server._binary_packet.pop(engineio_sid, None)

    def send_packet(self, engineio_sid: str, pkt: protocol.Packet) -> None:
        """The library's `_send_packet`: in front of it go the answers to CONNECT, behind them what was held."""
        session = self._engine.sockets.get(engineio_sid)
        if session is None or pkt.packet_type not in (protocol.CONNECT, protocol.CONNECT_ERROR):
            self._send_plainly(engineio_sid, pkt)
            return
        namespace = pkt.namespace or "/"
        refuses = pkt.packet_type == protocol.CONNECT_ERROR
        if not refuses:
            session.has_joined = True
        session.release(message(pkt.encode()), unless=_Withdrawn(namespace) if refuses else _nothing)

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
            # The library says "Unable to connect", which is no object [13].
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
        # What the connect handler emits would precede CONNECT, unless `always_connect` answers before it is known
        # whether the handler agrees [12].
        session.hold()
        try:
            server._handle_connect(engineio_sid, namespace, auth)
        finally:
            session.release(None, unless=_Withdrawn(namespace))


def _nothing(_pkt: Packet) -> bool:
    return False


class _Withdrawn:
    """Says of held packets, one after another, whether they were for a namespace that refused."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._follows = False
        """Whether attachments belong to the packet before them, which was withdrawn."""

    def __call__(self, pkt: Packet) -> bool:
        if isinstance(pkt.data, str):
            self._follows = _namespace_of(pkt.data) == self._namespace
        return self._follows


def _namespace_of(text: str) -> str:
    """The namespace in a Socket.IO packet: `<type>[<attachments>-][<namespace>,]...`."""
    rest = text[1:].lstrip("0123456789").removeprefix("-")
    return rest.partition(",")[0] if rest.startswith("/") else "/"
