"""The short way to publish, for programs: what a publish is when nothing is wrong with it, before Flask.

    POST /api/notifications, the operator's drawn token, a body of known length -> order -> 201
    anything else -> the application, as if nothing had been before it

A publish waits for everything that comes before its first write, and with it everybody who is to get it. Between two
broadcasts a server's code is out of the processor's caches: there Flask's own part of a publish took as long as sixty
writes. What is decided here is decided in publishing.py, for both ways; what is refused is said by the view.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from app.core.errors import SiarError
from app.server.services import Services
from app.server.web import body
from app.server.web.publish.publishing import KEY_HEADER, PATH, Publish, order
from app.server.wsgi import connection_limiter, shortcut
from app.server.wsgi.peer import address_of
from app.server.wsgi.shortcut import Shortcut, WsgiApp

_REFUSAL = "siar.refusal"
"""In `environ`: the exception that came of it, for the view to raise where it is put into words."""

_BEARER = "Bearer "

_REASONS = {200: "200 OK", 201: "201 CREATED"}

_NEVER_A_PAGE = ("X-Content-Type-Options", "nosniff")
"""Of the headers in policy.py the only one: what no browser asks for by itself, since it has no token to send, cannot be
opened as a page; and each header costs as much as several writes do."""

_DECODER = msgspec.json.Decoder(Publish)


class QuickPublish:
    """WSGI middleware below the guard, which has looked at Host and Origin."""

    def __init__(self, app: WsgiApp, services: Services) -> None:
        self._app = app
        self._services = services

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Publish, or let the application answer."""
        length = self._length_of_ours(environ)
        if not length:
            return self._app(environ, start_response)
        offered: Shortcut | None = environ.get(shortcut.KEY)
        if offered is not None:  # The guard and we have looked at the head alone, and at what never changes.
            offered.take(self._publish_again, environ)
        try:
            raw = environ["wsgi.input"].read(length)
        except OSError:  # A client that does not go on: the view says what it says of all bodies.
            return self._app(environ, start_response)
        return self._publish(environ, raw, start_response)

    def _publish_again(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """The same head once more, with all of its body."""
        self._services.requests.count()
        return self._publish(environ, environ["wsgi.input"].read(), start_response)

    def _publish(
        self, environ: dict[str, Any], raw: bytes, start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        try:
            wanted = _DECODER.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            environ["wsgi.input"] = io.BytesIO(raw)
            return self._app(environ, start_response)
        connection_limiter.credit(address_of(environ))  # As for every request with a token (auth.py).
        try:
            status, members = order(self._services, wanted, key_header=environ.get(KEY_HEADER))
        except (SiarError, OSError) as error:
            environ[_REFUSAL] = error
            return self._app(environ, start_response)
        answer = msgspec.json.encode(members)
        start_response(
            _REASONS[status],
            [
                ("Content-Type", body.CONTENT_TYPE),
                ("Content-Length", str(len(answer))),
                _NEVER_A_PAGE,
            ],
        )
        return [answer]

    def _length_of_ours(self, environ: dict[str, Any]) -> int:
        """The bytes of the body of a publish that can go the short way; 0 for every other request."""
        if environ["PATH_INFO"] != PATH or environ["REQUEST_METHOD"] != "POST":
            return 0
        given = environ.get("CONTENT_LENGTH") or ""
        proof = environ.get("HTTP_AUTHORIZATION") or ""
        if not (given.isascii() and given.isdigit() and len(given) <= 9 and proof.startswith(_BEARER)):
            return 0
        length = int(given)
        if length > self._services.settings.publish_body_bytes_max:
            return 0
        return length if self._services.operators.is_drawn_token(proof.removeprefix(_BEARER)) else 0


def raise_refusal(environ: dict[str, Any]) -> None:
    """Raise what the short way came to, where it came to an error."""
    error = environ.get(_REFUSAL)
    if error is not None:
        raise error
