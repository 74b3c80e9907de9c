"""The stock WebSocket on eventlet's own class, under our gunicorn worker and `eventlet.wsgi`."""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Iterable, Sequence
from typing import Any

from app.core.errors import MalformedFrame
from app.core.protocol.websocket import NOT_ALLOWED, NOT_UTF8, TOO_BIG, masked
from app.server.transports.socket_io.engine.attempt import WebSocketAttempt
from app.server.transports.socket_io.engine.handshake import offered_subprotocols
from app.server.transports.socket_io.engine.server import Environ, StartResponse
from app.server.transports.socket_io.engine.session import EngineSession
from app.server.transports.socket_io.engine.stock_channel import count_frame, receive_all
from app.server.wsgi.detached import DETACHED
from app.server.wsgi.peer import cut

logger = logging.getLogger("siar.websocket")


def websocket_class(*, compression: bool) -> Any:
    """Return the class that opens a WebSocket."""
    from eventlet import websocket

    class EventletWebSocket(websocket.WebSocketWSGI):  # type: ignore[misc]
        """eventlet's class with our choice of compression."""

        def _negotiate_permessage_deflate(self, extensions: Any) -> Any:
            # Off by default, because each client's copy is compressed again here. If on, as on the direct path: each
            # message by itself. `is_offered` has checked the offer.
            if not compression:
                return None
            return {"server_no_context_takeover": True, "client_no_context_takeover": True}

    return EventletWebSocket


def serve(
    open_websocket: Any, attempt: WebSocketAttempt, environ: Environ, start_response: StartResponse
) -> Iterable[bytes]:
    """Serve one WebSocket, from its handshake to its end."""
    from eventlet import websocket, wsgi

    opener = open_websocket(None, max_frame_length=int(attempt.session.server.max_http_buffer_size))
    opener.supported_protocols = offered_subprotocols(environ)  # eventlet selects the first one offered.
    try:
        # eventlet reports a peer that left early as an error; it goes to the debug log.
        connection = opener._handle_hybi_request({**environ, "wsgi.errors": _Debug()})
    except (websocket.BadRequest, KeyError) as error:
        status = getattr(error, "status", None) or "400 Bad Request"
        headers = getattr(error, "headers", None) or []
        start_response(status, [("Connection", "close"), ("Content-Length", "0"), *headers])
        return []
    connection.close = functools.partial(_close, connection)
    connection._apply_mask = _unmasked
    connection.UTF8Decoder = _TextDecoder
    _limit_messages(connection, attempt.session)
    receive_all(attempt, connection, connection.socket)
    wsgi.WSGI_LOCAL.already_handled = True  # `eventlet.wsgi` requires it.
    return DETACHED


class _Debug:
    """A stream that writes to the debug log."""

    @staticmethod
    def write(text: str) -> None:
        logger.debug("%s", text)


class _TextDecoder:
    """Replaces eventlet's decoder, whose error closes the connection with 1011 instead of 1007."""

    @staticmethod
    def decode(data: bytes, _final: bool) -> str:  # noqa: FBT001 - eventlet's signature
        from eventlet.websocket import FailedConnectionError

        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise FailedConnectionError(NOT_UTF8, "A text is not UTF-8.") from error


def _close(connection: Any, close_data: tuple[int, str] | None = None) -> None:
    """Replace eventlet's `close`, which closes the descriptor while a reader still waits on it.

    The reader would then sleep until its timeout of 45 s; after a shutdown it reads the end at once.
    """
    with contextlib.suppress(OSError):
        connection._send_closing_frame(ignore_send_errors=True, close_data=close_data)
    cut(connection.socket)


def _limit_messages(connection: Any, session: EngineSession) -> None:
    """Bound messages and count fragments and pings; eventlet bounds single frames only and reports neither of these."""
    from eventlet.websocket import FailedConnectionError

    bytes_max = int(session.server.max_http_buffer_size)
    receive_frame = connection._recv_frame

    def receive(message: Any = None) -> Any:
        session.server.sleep(0)
        received = receive_frame(message=message)
        parts = received.data
        # Each fragment is a part, so empty ones would accumulate without reaching any bound in bytes.
        parts[:] = [b"".join(parts)]
        if len(parts[0]) > bytes_max:
            raise FailedConnectionError(TOO_BIG, "The message is too long.")
        if received.opcode & 8 or not received.finished:
            try:
                count_frame(session)
            except MalformedFrame as error:
                raise FailedConnectionError(NOT_ALLOWED, str(error)) from error
        return received

    connection._recv_frame = receive


def _unmasked(data: bytes, mask: Sequence[int], length: int, offset: int) -> bytes:
    """Replace eventlet's unmasking, which goes byte by byte."""
    assert length == len(data)
    return masked(data, bytes(mask[(offset + place) % 4] for place in range(4)))
