"""Our worker without green threads: one connection after the other, whose requests are all there when it begins to read.

    read, read, ...  ->  a socket that keeps them apart  ->  the worker's request loop  ->  write, write, ...

Nobody waits for anybody, so that it is known which bytes one read has found and what one write has brought.
"""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from gunicorn.config import Config
from gunicorn.glogging import Logger
from gunicorn.http.parser import RequestParser

from app.server.wsgi import short_head
from app.server.wsgi.worker import SiarWorker

PEER = ("192.0.2.1", 40_000)
"""A stranger, whose requests the door counts."""

Start = Callable[..., Callable[[bytes], None]]

App = Callable[[dict[str, Any], Start], Iterable[bytes]]

REQUEST = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbody"

_DATE = re.compile(rb"\r\nDate: [^\r]+\r\n")


class Noting:
    """An application that needs nothing of its request but to answer it, and notes each body."""

    def __init__(self, app: Callable[[Start], Iterable[bytes]]) -> None:
        self._app = app
        self.bodies: list[bytes] = []

    def __call__(self, environ: dict[str, Any], start: Start) -> Iterable[bytes]:
        self.bodies.append(environ["wsgi.input"].read())
        return self._app(start)


class BlockingWorker(SiarWorker):
    """On nothing but the thread that calls it."""

    def __init__(self, app: App, **options: Any) -> None:
        """`options`: gunicorn's settings."""
        cfg = Config()
        for name, value in options.items():
            cfg.set(name, value)
        super().__init__(1, 0, [], None, 60, cfg, Logger(Config()))
        self.tmp.close()  # No master waits for a sign of life.
        self.wsgi = app
        self.pauses_s: list[float] = []
        """What the door made its visitor wait."""
        self.limits_s: list[float] = []
        """How long each wait for a request might have been."""
        self.on_give_way: Callable[[], None] = lambda: None

    def current(self) -> Any:
        return threading.get_ident()

    def spawn(self, function: Any) -> None:
        function()

    def give_way(self) -> None:
        self.on_give_way()

    def pause(self, seconds: float) -> None:
        self.pauses_s.append(seconds)

    def within(self, seconds: float) -> AbstractContextManager[Any]:
        self.limits_s.append(seconds)
        return contextlib.nullcontext()

    def converse(self, *reads: bytes) -> list[bytes]:
        """Serve a connection that brings these, one with each read, and ends; what was written, one for each write."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with _gunicorn_as_it_was(), ours, theirs, socket.create_server(("127.0.0.1", 0)) as listener:
            short_head.use()
            for read in reads:
                theirs.send(read)
            theirs.shutdown(socket.SHUT_WR)
            with self.serving(ours, PEER):
                self.handle(listener, ours, PEER)
            return list(_reads(theirs))


@contextlib.contextmanager
def _gunicorn_as_it_was() -> Iterator[None]:
    """After the block: without what a worker puts in its place."""
    kept = RequestParser.mesg_class
    try:
        yield
    finally:
        RequestParser.mesg_class = kept


def _reads(sock: socket.socket) -> Iterator[bytes]:
    """What each read finds, to the end."""
    while True:
        try:
            data = sock.recv(1 << 20)
        except (
            ConnectionResetError
        ):  # Said once, before what has come: the other end has left something unread.
            continue
        if not data:
            return
        yield data


def undated(*writes: bytes) -> bytes:
    """All of it, with the time of day taken out."""
    return _DATE.sub(b"\r\nDate: -\r\n", b"".join(writes))
