"""The library's Engine.IO server with its HTTP endpoint replaced.

    request -> CORS -> checks -> GET, polling, no sid     a new session: the open packet
                                 GET, polling             wait for packets to the client, and return them
                                 POST, polling            packets of the client
                                 GET, WebSocket           an attempt to open or upgrade, passed to `websocket`

The timer (timer.py) ends sessions whose clients do not answer.

Quotations are from the Engine.IO protocol, version 4. The library (python-engineio 4.15, python-socketio 5.18) deviates
in these points; comments here and in the neighbouring files refer to them by number:

    1  announces pings in whole seconds            8  answers sessions past their ping timeout
    2  takes a missing transport for polling       9  answers a pending poll of a closing client with nothing
    3  answers other methods with 405             10  sends a noop over the new WebSocket; polls go on after an upgrade
    4  answers a POST with OK                     11  keeps a session whose poll was aborted
    5  keeps a session that sent a bad packet     12  sends what a connect handler emits before CONNECT
    6  splits packets between concurrent polls    13  says "Unable to connect" of an unknown namespace
    7  lets an unknown packet type escape into the WSGI server
   14  answers with a script (JSONP), which a page of any site may load
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from urllib.parse import parse_qs

import engineio
from engineio import packet
from engineio.packet import Packet
from werkzeug.datastructures import Accept
from werkzeug.http import parse_accept_header

from app import clock
from app.core.errors import MalformedFrame
from app.server.transports.socket_io.engine import handshake
from app.server.transports.socket_io.engine.attempt import AttemptState, WebSocketAttempt
from app.server.transports.socket_io.engine.limits import IncomingLimits
from app.server.transports.socket_io.engine.packets import decode_payload, encode_payload
from app.server.transports.socket_io.engine.session import EngineSession
from app.server.transports.socket_io.engine.timer import EngineTimer, RunTimer
from app.server.wsgi.admission import Admission, TooManyConnections
from app.server.wsgi.peer import address_of, peer_socket

logger = logging.getLogger("siar.engineio")

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Compresses = Callable[[Environ], bool]
"""Decides whether to compress what goes to the client of a request, as far as the client accepts it."""


def never(_environ: Environ) -> bool:
    """Compress for no client."""
    return False


NO_POLLING = (
    "No polling here: several processes answer on this port, and polls of one session could reach another one. "
    'Connect with transports: ["websocket"].'
)


NO_SOCKET = (
    "No WebSocket here: this WSGI server keeps its connections to itself. Poll (the default of every client), or start "
    "the service with ./siar serve."
)


class BadRequest(Exception):
    """A refused request, with its reason; the status is 400 unless given."""

    def __init__(
        self, sentence: str, *, status: str = "400 Bad Request", headers: Sequence[tuple[str, str]] = ()
    ) -> None:
        super().__init__(sentence)
        self.status = status
        self.headers = headers


class EngineServer(engineio.Server):  # type: ignore[misc]
    """`engineio.Server` with additional options.

    `websocket` serves a WebSocket request, given the attempt, `environ` and `start_response`. It answers the handshake,
    then calls `begin(channel)` on the attempt, `receive(message)` for each message and, in any case, `lost()`.
    `run_timer` is called once, with the timer's `tick`, for the first session. By default a thread calls `tick`.
    """

    def __init__(
        self,
        *,
        websocket: Callable[[WebSocketAttempt, Environ, StartResponse], Iterable[bytes]],
        run_timer: RunTimer | None = None,
        connect_timeout_s: float | None = None,
        limits: IncomingLimits | None = None,
        admission: Admission | None = None,
        compresses: Compresses = never,
        **options: Any,
    ) -> None:
        super().__init__(monitor_clients=False, **options)
        self._compresses = compresses
        self.limits = limits or IncomingLimits()
        self._admission = admission
        self.lock = threading.Lock()
        """Guards the sessions' outgoing packets. Held for a few statements, never during a handler."""
        self._websocket = websocket
        self.timer = EngineTimer(self, connect_timeout_s=connect_timeout_s, run=run_timer)
        self._leaving: dict[str, EngineSession] = {}
        """Ended sessions whose last packets wait for a poll."""

    def handle_request(self, environ: Environ, start_response: StartResponse) -> Any:
        """Serve a request to the endpoint, in place of the library's method."""
        query = parse_qs(environ.get("QUERY_STRING", ""))
        try:
            self._check_origin(environ)
            if environ["REQUEST_METHOD"] == "OPTIONS" and self.cors_allowed_origins != []:
                body = ""
            else:
                session = self._check(environ, query)
                if query["transport"][0] == "websocket":  # The first of several counts, as in `_check`.
                    return self._serve_websocket(self._attempt_for(session, environ), environ, start_response)
                body = self._poll(environ, session)
        except BadRequest as refusal:
            text = packet.Packet.json.dumps({"message": str(refusal)})
            return self._respond(
                environ, start_response, text, refusal.status, "application/json", refusal.headers
            )
        return self._respond(environ, start_response, body)

    def _check_origin(self, environ: Environ) -> None:
        origin = environ.get("HTTP_ORIGIN")
        if self.cors_allowed_origins != [] and origin:
            allowed = self._cors_allowed_origins(environ)
            if allowed is not None and origin not in allowed:
                raise BadRequest("Not an accepted origin.")

    def _check(self, environ: Environ, query: dict[str, list[str]]) -> EngineSession | None:
        """Return the request's session, or `None` for a new one. Raises `BadRequest`.

        "If a mandatory query parameter is missing, then the server MUST respond with an HTTP 400 error status" [2].
        The same goes for unknown methods [3].
        """
        method, transport = environ["REQUEST_METHOD"], query.get("transport", [""])[0]
        if query.get("EIO") != ["4"]:
            raise BadRequest("Unsupported protocol version")
        if transport not in self.transports:
            raise BadRequest("Transport unknown" if transport not in self.valid_transports else NO_POLLING)
        wants_websocket = handshake.wants_websocket(environ)
        if (transport == "websocket") is not wants_websocket:
            raise BadRequest("Bad request")
        if method not in ("GET", "POST") or (method == "POST" and (wants_websocket or "sid" not in query)):
            raise BadRequest("Bad handshake method")
        if "j" in query:
            # The library answers with a script, and browsers send no origin when they load scripts [14].
            raise BadRequest("JSONP is no part of Engine.IO 4")
        if wants_websocket:
            if peer_socket(environ) is None:
                raise BadRequest(NO_SOCKET)
            _check_handshake(environ)
        if "sid" not in query:
            return None
        sid = query["sid"][0]
        session = self.sockets.get(sid) or self._leaving.get(sid)
        if session is None or self._end_if_overdue(session):
            raise BadRequest("Session ID unknown")
        if session.upgraded and not wants_websocket:
            raise BadRequest("The session has been upgraded")
        return session

    def _serve_websocket(
        self, attempt: WebSocketAttempt, environ: Environ, start_response: StartResponse
    ) -> Iterable[bytes]:
        try:
            return self._websocket(attempt, environ, start_response)
        except Exception:
            attempt.lost()
            raise

    def _poll(self, environ: Environ, session: EngineSession | None) -> str:
        if session is None:
            session = self._open(environ)
            session.connected = True
            packets: list[Packet] | None = [
                self.opening(
                    session,
                    upgrades=self._upgrades(session.sid, "polling")
                    if peer_socket(environ) is not None
                    else [],
                )
            ]
        elif environ["REQUEST_METHOD"] == "POST":
            self._post(environ, session)
            return "ok"  # "with the string `ok` in the response body" [4]
        else:
            packets = session.poll(peer_socket(environ))
            if session.closed and not session.outgoing.has_waiting:
                self.left(session.sid)
        if packets is None:
            raise BadRequest("The session has ended, or does not poll any more")
        return encode_payload(packets)

    def _post(self, environ: Environ, session: EngineSession) -> None:
        # "a client MUST NOT have more than one active POST request. Should it happen, the server MUST return an HTTP
        # 400 error status and close the session."
        if session.closing or not session.begin_post():
            session.close(reason=self.reason.TRANSPORT_ERROR)
            raise BadRequest("The session has ended, or another POST is under way")
        try:
            body = read_body(environ, bytes_max=int(self.max_http_buffer_size))
            session.post(decode_payload(body, packets_max=self.limits.payload_packets_max))
        except MalformedFrame as error:
            # The library logs the error, keeps the session and answers OK [5].
            logger.info("A polling peer broke the protocol (%s); closed.", error)
            session.close(reason=self.reason.TRANSPORT_ERROR)
            raise BadRequest("Bad request") from error
        finally:
            session.end_post()

    def _respond(
        self,
        environ: Environ,
        start_response: StartResponse,
        text: str,
        status: str = "200 OK",
        content_type: str = "text/plain; charset=UTF-8",
        extra_headers: Iterable[tuple[str, str]] = (),
    ) -> list[bytes]:
        body = text.encode()
        headers = [("Content-Type", content_type), ("Cache-Control", "no-store"), *extra_headers]
        if len(body) >= self.compression_threshold and self._compresses(environ):
            accepted = parse_accept_header(environ.get("HTTP_ACCEPT_ENCODING"), Accept)
            method = accepted.best_match(self.compression_methods)
            if method is not None:
                body = getattr(self, f"_{method}")(body)
                headers.append(("Content-Encoding", method))
        headers.append(("Content-Length", str(len(body))))
        start_response(status, headers + self._cors_headers(environ))
        return [body]

    def opening(self, session: EngineSession, *, upgrades: list[str]) -> Packet:
        """Return the open packet. The library announces whole seconds only [1]."""
        fields = {
            "sid": session.sid,
            "upgrades": upgrades,
            "pingInterval": _milliseconds(self.ping_interval),
            "pingTimeout": _milliseconds(self.ping_timeout),
            "maxPayload": self.max_http_buffer_size,
        }
        return Packet(packet.OPEN, fields)

    def disconnect(self, sid: str | None = None) -> None:
        """End one session, or all.

        The library's method waits until the peer has read everything that is queued. A peer that never reads, or a polling
        one that never returns, would hold a green thread for ever.
        """
        for each in list(self.sockets.values()) if sid is None else [self.sockets.get(sid)]:
            if each is not None:
                each.close(reason=self.reason.SERVER_DISCONNECT)

    def forget(self, session: EngineSession, *, lingers: bool, reason: str) -> None:
        """Remove a session that has ended. `lingers` says that packets wait in it for a poll."""
        self.sockets.pop(session.sid, None)
        self._release_place(session)
        if lingers and reason == self.reason.SERVER_DISCONNECT:
            self._leaving[session.sid] = session
            self.timer.on_leaving(session.sid)

    def _release_place(self, session: EngineSession) -> None:
        if self._admission is not None:
            self._admission.leave(session.address)

    def left(self, sid: str) -> None:
        """Drop what is kept for an ended session."""
        self._leaving.pop(sid, None)

    def _get_socket(self, sid: str) -> EngineSession:
        session: EngineSession = self.sockets[sid]
        return session

    def _open(self, environ: Environ) -> EngineSession:
        address = address_of(environ)
        if self._admission is not None:
            try:
                self._admission.enter(address)
            except TooManyConnections as error:
                raise BadRequest(str(error), status="503 Service Unavailable") from error
        sid = self.generate_id()
        session = self.sockets[sid] = EngineSession(self, sid, address)
        if self._trigger_event("connect", sid, environ, run_async=False) not in (None, True):
            self._release_place(self.sockets.pop(sid))
            raise BadRequest("Refused", status="401 Unauthorized")
        self.timer.on_open(session)
        return session

    def _attempt_for(self, session: EngineSession | None, environ: Environ) -> WebSocketAttempt:
        if session is None:
            return WebSocketAttempt(self._open(environ), AttemptState.NEW)
        with self.lock:
            if session.upgraded or session.closing or session.upgrade_attempt is not None:
                return WebSocketAttempt(session, AttemptState.REFUSED)
            session.upgrade_attempt = WebSocketAttempt(session, AttemptState.PROBING)
            return session.upgrade_attempt

    def _end_if_overdue(self, session: EngineSession) -> bool:
        """Return whether a session has ended or is overdue, ending it if the timer has not come to it yet [8]."""
        if session.pong_due_us and not session.closing and clock.monotonic_us() >= session.pong_due_us:
            session.close(reason=self.reason.PING_TIMEOUT)
        return session.closing and session.sid not in self._leaving


def read_body(environ: dict[str, Any], *, bytes_max: int) -> bytes:
    """Return a POST's body, reading at most one byte beyond the limit. Raises `BadRequest`."""
    # Without a length, only some servers mark the body's end; with the others reading would block.
    stated = environ.get("CONTENT_LENGTH") or (bytes_max + 1 if environ.get("wsgi.input_terminated") else 0)
    try:
        length = int(stated)
    except ValueError:
        raise BadRequest("Bad request") from None
    if length < 0:  # The stream below would take it as "read everything".
        raise BadRequest("Bad request")
    body: bytes = b""
    if length <= bytes_max + 1:
        body = environ["wsgi.input"].read(length)
        length = len(body)
    if length > bytes_max:
        raise BadRequest("The body is too long", status="413 Content Too Large")
    return body


def _check_handshake(environ: Environ) -> None:
    """Check a WebSocket handshake before a session is opened: some drivers accept invalid ones. Raises `BadRequest`."""
    if not handshake.speaks_our_version(environ):
        raise BadRequest(
            "This server speaks version 13 of the WebSocket protocol",
            status="426 Upgrade Required",
            headers=handshake.NEEDS_VERSION,
        )
    if not handshake.is_well_formed(environ):
        raise BadRequest("Bad WebSocket handshake")


def _milliseconds(seconds: float) -> int | float:
    milliseconds = round(seconds * 1_000_000) / 1000
    return int(milliseconds) if milliseconds.is_integer() else milliseconds
