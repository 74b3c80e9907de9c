"""A client that asks the same again and again, word for word but for the body, as programs do that publish.

    a request's head as it came, and what gunicorn made of it -> the same head again -> the application, at once

Between two broadcasts the way through gunicorn takes as long as fifty writes to subscribers, who wait for it: reading the
head, an `environ` of it, an answer's head. To see that all of it is as it was takes hardly anything. The application is
asked as for every request, and whatever it answers but the plainest is written by gunicorn.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterable
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from gunicorn.http import wsgi
from gunicorn.http.parser import RequestParser

from app import clock
from app.server.wsgi import shortcut
from app.server.wsgi.short_head import ShortHeadRequest
from app.server.wsgi.shortcut import Shortcut, WsgiApp

logger = logging.getLogger("siar.repeats")

_HEAD_END = b"\r\n\r\n"

_ONCE_ONLY = frozenset({"EXPECT", "TRANSFER-ENCODING", "UPGRADE"})
"""Headers of requests that take more than an answer."""

_WATCHERS = (
    *("accesslog", "logconfig", "logconfig_dict", "logconfig_json", "syslog", "statsd_host"),
    *("logger_class", "pre_request", "post_request", "max_requests"),
)
"""gunicorn's settings by which somebody wants to hear of every request: then all go through it."""

_CHANGERS = ("errorlog", "proxy_protocol")
"""Likewise those by which the same head is not the same request: a log file that is rotated is another `wsgi.errors`, and
what a proxy says of a connection stands before its first head, and nowhere else."""

_PLAINEST = ("200 ", "201 ")
"""Of the statuses of answers that have a body."""

_create = wsgi.create


class RepeatableRequest(ShortHeadRequest):
    """A request that knows what would be the same request again."""

    head = b""
    """As it came, with the empty line at its end; empty where that took more than one read."""
    environ: dict[str, Any] | None = None
    """As gunicorn made it, before the application saw it; of one that may come again."""
    shortcut: Shortcut
    """Likewise."""
    content = b""
    """Its body, where it came again."""

    def parse(self, unreader: Any) -> bytes:
        """gunicorn's, which keeps nothing of what it has read."""
        data = unreader.read()
        if not data:
            raise StopIteration  # As gunicorn says that nobody asks any more.
        unreader.unread(data)
        head, end, _body = data.partition(_HEAD_END)
        self.head = head + end if end and not head.startswith(b"\r\n") else b""
        return super().parse(unreader)  # type: ignore[no-any-return]


def use(cfg: Any) -> None:
    """From now on this process' workers keep what they need to know a request again."""
    RequestParser.mesg_class = RepeatableRequest
    is_watched = any(cfg.settings[name].get() != cfg.settings[name].default for name in _WATCHERS + _CHANGERS)
    wsgi.create = _create if is_watched else create


def create(request: Any, *args: Any, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
    """gunicorn's function of this name: a response and an `environ` for a request."""
    response, environ = _create(request, *args, **kwargs)
    if (
        getattr(request, "head", b"")
        and request.method == "POST"
        and request.version == (1, 1)
        and int(environ.get("CONTENT_LENGTH") or 0) > 0
        and not any(name in _ONCE_ONLY for name, _value in request.headers)
        and not request.should_close()
    ):
        request.shortcut = environ[shortcut.KEY] = Shortcut()
        request.environ = {**environ, "wsgi.multithread": True}
        del request.environ[shortcut.EARLY_HINTS]
    return response, environ


def can_come_again(request: Any) -> bool:
    """Whether to compare what its connection brings next: of the answered request nothing must be left there."""
    return getattr(request, "environ", None) is not None and getattr(request.body.reader, "length", None) == 0


def has_shortcut(request: Any) -> bool:
    """Whether somebody has taken its head for good."""
    return request.shortcut.app is not None


def is_again(request: Any, data: bytes) -> bool:
    """Whether `data` is `request` once more and nothing else; then it is the new one from now on."""
    begin = len(request.head)
    if len(data) != begin + int(request.environ["CONTENT_LENGTH"]) or not data.startswith(request.head):
        return False
    request.content = data[begin:]
    return True


def answer(app: WsgiApp, request: Any, sock: Any, is_handled: Callable[[Any], bool]) -> bool:
    """Have `app` answer a request that came again, and write that, as gunicorn does in its `handle_request`.

    Whether the connection is still the request loop's. Raises `StopIteration` where it must not go on, as gunicorn has it.
    """
    response = _Response(request, sock, request.cfg)
    taken = request.shortcut
    environ = {**(taken.environ or request.environ), "wsgi.input": io.BytesIO(request.content)}
    app = taken.app or app
    try:
        parts = app(environ, response.start_response)
        if is_handled(parts):
            return False
        try:
            response.send(parts)
        finally:
            if hasattr(parts, "close"):
                parts.close()
    except (StopIteration, OSError):
        raise
    except (Exception, SystemExit):  # A worker that is aborted exits wherever it is.
        if not response.headers_sent:
            raise
        logger.exception("An answer broke off; its connection ends.")
        raise StopIteration from None
    return True


class _Response(wsgi.Response):  # type: ignore[misc]
    """gunicorn's, but for the plainest answers, whose head may have been written before."""

    _noted: tuple[str, list[tuple[str, str]]] | None = None
    """What the application said first, until gunicorn has to hear of it."""

    def start_response(
        self, status: str, headers: list[tuple[str, str]], exc_info: Any = None
    ) -> Callable[[bytes], None]:
        """As PEP 3333 has it."""
        if self.status is None and (self._noted is None or exc_info):
            self._noted = status, headers
        else:
            self._tell()
            super().start_response(status, headers, exc_info)
        return self.write

    def write(self, data: bytes) -> None:
        """A part of the answer."""
        self._tell()
        super().write(data)

    def send(self, parts: Iterable[bytes]) -> None:
        """All of what the application returned. Raises `StopIteration` where the connection ends with it."""
        if type(parts) is list and len(parts) == 1 and self._noted is not None:
            status, headers = self._noted
            if status.startswith(_PLAINEST) and ("Content-Length", str(len(parts[0]))) in headers:
                data = _head(status, tuple(headers), clock.now_us() // 1_000_000) + parts[0]
                self.headers_sent = True
                self.sock.sendall(data)
                return
        for part in parts:
            self.write(part)
        self._tell()
        self.close()
        if self.should_close():
            raise StopIteration

    def _tell(self) -> None:
        noted, self._noted = self._noted, None
        if noted is not None:
            super().start_response(*noted)


class _Noted:
    """Stands where gunicorn has a socket."""

    def __init__(self) -> None:
        self.data = b""

    def sendall(self, data: bytes) -> None:
        """Keep it."""
        self.data += data


_PLAIN = SimpleNamespace(method="POST", version=(1, 1), should_close=lambda: False)
"""Of a request what decides on its answer's head."""


@lru_cache(maxsize=64)
def _head(status: str, headers: tuple[tuple[str, str], ...], _second: int) -> bytes:
    """As gunicorn checks and writes it, which puts the time there: good for this second."""
    noted = _Noted()
    response = wsgi.Response(_PLAIN, noted, _PLAIN)
    response.start_response(status, list(headers))
    response.send_headers()
    return noted.data
