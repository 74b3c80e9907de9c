"""Our worker without green threads: one connection at a time, whose requests have all arrived when it begins to read.

    read, read, ...  ->  a socket that preserves boundaries  ->  the worker's request loop  ->  write, write, ...

Nothing runs concurrently, so that the bytes of each read and of each write are known.
"""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from gunicorn import util
from gunicorn.config import Config
from gunicorn.glogging import Logger
from gunicorn.http.parser import RequestParser

from app.server.wsgi import request_parser
from app.server.wsgi.worker import SiarWorker

PEER = ("192.0.2.1", 40_000)
"""Address of a client whose requests the connection limiter counts."""

Start = Callable[..., Callable[[bytes], None]]

App = Callable[[dict[str, Any], Start], Iterable[bytes]]

REQUEST = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbody"

_DATE = re.compile(rb"\r\nDate: [^\r]+\r\n")


class Noting:
    """An application that only uses `start_response` and reads its request; it records each body."""

    def __init__(self, app: Callable[[Start], Iterable[bytes]]) -> None:
        self._app = app
        self.bodies: list[bytes] = []

    def __call__(self, environ: dict[str, Any], start: Start) -> Iterable[bytes]:
        self.bodies.append(environ["wsgi.input"].read())
        return self._app(start)


class BlockingWorker(SiarWorker):
    """Runs everything on the calling thread."""

    def __init__(self, app: App, **options: Any) -> None:
        """`options`: gunicorn's settings."""
        cfg = Config()
        for name, value in options.items():
            cfg.set(name, value)
        super().__init__(1, 0, [], None, 60, cfg, Logger(Config()))
        self.tmp.close()  # There is no master that checks for a heartbeat.
        self.wsgi = app
        self.pauses_s: list[float] = []
        """Pauses that the connection limiter imposed on its client."""
        self.limits_s: list[float] = []
        """Timeouts of each wait for a request."""
        self.on_yield_now: Callable[[], None] = lambda: None

    def current(self) -> Any:
        return threading.get_ident()

    def spawn(self, function: Any) -> None:
        function()

    def yield_now(self) -> None:
        self.on_yield_now()

    def pause(self, seconds: float) -> None:
        self.pauses_s.append(seconds)

    def time_limit(self, seconds: float) -> AbstractContextManager[Any]:
        self.limits_s.append(seconds)
        return contextlib.nullcontext()

    def converse(self, *reads: bytes) -> list[bytes]:
        """Serve a connection that receives each of these in one read, and then ends. Returns each write's data."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with _gunicorn_as_it_was(), ours, theirs, socket.create_server(("127.0.0.1", 0)) as listener:
            request_parser.use()
            for read in reads:
                theirs.send(read)
            theirs.shutdown(socket.SHUT_WR)
            with self.serving(ours, PEER):
                self.handle(listener, ours, PEER)
            return list(_reads(theirs))


@contextlib.contextmanager
def _gunicorn_as_it_was() -> Iterator[None]:
    """Undo the worker's changes to gunicorn's parser after the block."""
    request_class, write_error = RequestParser.mesg_class, util.write_error
    try:
        yield
    finally:
        RequestParser.mesg_class, util.write_error = request_class, write_error


def _reads(sock: socket.socket) -> Iterator[bytes]:
    """Yield what each read returns, to the end."""
    while True:
        try:
            data = sock.recv(1 << 20)
        except (
            ConnectionResetError
        ):  # Raised once, before the pending data, if the other end has left something unread.
            continue
        if not data:
            return
        yield data


def undated(*writes: bytes) -> bytes:
    """Return all writes joined, without the Date header."""
    return _DATE.sub(b"\r\nDate: -\r\n", b"".join(writes))
