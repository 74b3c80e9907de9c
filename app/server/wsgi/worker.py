"""What our gunicorn workers have in common, whichever green threads they run on.

1. A connection that the application took over leaves the request loop, and is not closed by it.
2. Idle connections are known, so that a drain ends them at once, and one that is needed makes room (connection_limiter.py).
3. A drain stops accepting, tells the application, and waits for its connections within the master's patience.
"""

from __future__ import annotations

import errno
import fcntl
import gc
import os
import termios
import types
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from typing import Any

from gunicorn.sock import ssl_wrap_socket
from gunicorn.workers.base_async import AsyncWorker

from app import clock, settings
from app.core.forwarded import exempt_from_limits
from app.server.wsgi import connection_limiter, plain_request, short_head, unreadable
from app.server.wsgi.connection_limiter import ConnectionLimiter
from app.server.wsgi.detached import DETACHED
from app.server.wsgi.peer import cut
from app.server.wsgi.takeover import offer, withdraw
from app.server.wsgi.timed_body import TimedReader, has_come, wire_bytes_max
from app.server.wsgi.yield_timer import YieldTimer

DRAIN_SHARE = 0.7
"""Of the master's patience: what has not ended by then is left to end with the process, before the master kills it."""

FIRST_REQUEST_S = 15.0
"""From the accept to the end of the first request's head, and for a TLS handshake. Later requests have `keepalive`."""

SEND_IDLE_S = 60.0
"""Time for which a peer may read nothing of a response; a phone that sleeps for a minute reconnects and asks again."""

PLACES_OF_A_CONNECTION = 2
"""A client that polls has two: a question that waits for its answer, and a post beside it."""

SPARE = 100
"""Of the worker's green threads: for what is no connection."""

_NOTHING = bytes(4)
"""As FIONREAD says it."""

GC_AFTER = 20_000
"""Objects more than before, where Python's default is 700 (and 2,000 from 3.13 on)."""


class SiarWorker(AsyncWorker):  # type: ignore[misc]
    """One process, one loop, a green thread for each connection until it is taken over."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._visitors: dict[Any, tuple[Any, str]] = {}
        """By green thread: its connection and the peer's address."""
        self._turns = YieldTimer()
        self._newcomers: set[Any] = set()
        """Green threads whose connection has not brought a request yet."""
        given = settings.read(os.environ)
        self.body_bytes_max = wire_bytes_max(given.publish_body_bytes_max, given.packet_bytes_max)
        """Read of one request's body, by whomever."""
        self.door = make_door(given, count_max=self.worker_connections - SPARE)

    def init_process(self) -> None:
        """Bound what is read, word what cannot be, and show the application its door."""
        short_head.use()
        unreadable.use()
        connection_limiter.use(self.door)
        super().init_process()

    @cached_property
    def _is_encrypted(self) -> bool:
        """gunicorn looks its settings up each time."""
        return bool(self.cfg.is_ssl)

    def current(self) -> Any:
        """The green thread that runs."""
        raise NotImplementedError

    def spawn(self, function: Any) -> None:
        """Run `function` in a green thread."""
        raise NotImplementedError

    def give_way(self) -> None:
        """Let the others have their turn."""
        raise NotImplementedError

    def pause(self, seconds: float) -> None:
        """Let this green thread sleep."""
        raise NotImplementedError

    def within(self, seconds: float) -> AbstractContextManager[Any]:
        """A context that leaves its block in silence when the time is over."""
        raise NotImplementedError

    def _let_others_run(self) -> None:
        self._turns.give()
        self.give_way()

    @contextmanager
    def timeout_ctx(self) -> Iterator[None]:
        """Around the wait for a connection's next request: ends an idle one, and lets a drain find it."""
        waiting = self.current()
        if waiting in self._newcomers:
            self._let_others_run()
        sock, address = self._visitors[waiting]
        wait_s = self.door.wait_s(address)
        if wait_s:
            self.pause(wait_s)
            if not self.alive:
                cut(sock)  # A drain looked for it while it slept.
        self.door.begin_idle(address, waiting, sock)
        try:
            with self.within(FIRST_REQUEST_S if waiting in self._newcomers else self.cfg.keepalive):
                if self._turns.is_due():
                    self._let_others_run()
                began_us = clock.monotonic_us()
                yield
                self._turns.waited(began_us)
        finally:
            self._newcomers.discard(waiting)
            self.door.end_idle(waiting)

    def shake_hands(self, client: Any) -> Any:
        """TLS around an accepted connection. Raises `OSError`, too when the client takes too long to say hello."""
        encrypted = None
        try:
            with self.within(FIRST_REQUEST_S):
                if plain_request.is_plain(client):
                    plain_request.redirect(client)
                    raise ConnectionAbortedError("The client spoke plain HTTP.")
                encrypted = ssl_wrap_socket(client, self.cfg)
                encrypted.do_handshake()
                return encrypted
            raise TimeoutError("The client did not finish its TLS handshake.")
        except OSError:
            if encrypted is not None:
                encrypted.close()
            raise

    @contextmanager
    def place(self, addr: Any) -> Iterator[bool]:
        """Around a connection: whether there is a place for it."""
        address = addr[0] if isinstance(addr, tuple) else ""  # A Unix socket's peer has none.
        has_place = self.door.enter(address)
        try:
            yield has_place
        finally:
            if has_place:
                self.door.leave(address)

    @contextmanager
    def serving(self, client: Any, addr: Any) -> Iterator[None]:
        """Around a connection that is spoken with."""
        green = self.current()
        self._visitors[green] = client, addr[0] if isinstance(addr, tuple) else ""
        self._newcomers.add(green)
        try:
            yield
        finally:
            self._newcomers.discard(green)
            del self._visitors[green]

    def handle_request(self, listener_name: Any, req: Any, sock: Any, addr: Any) -> bool:
        """Answer one request; during a drain, it is the last one of its connection."""
        if not has_come(req.body.reader):
            req.body.reader = TimedReader(
                req.body.reader,
                req.unreader,
                bytes_max=self.body_bytes_max,
                limit=self.within,
                give_way=self.give_way,
            )
        sock.settimeout(SEND_IDLE_S)
        offered = None if self._is_encrypted else offer(sock, req.unreader)
        try:
            again = bool(super().handle_request(listener_name, req, sock, addr))
        except TimeoutError:  # gunicorn would log it with a traceback.
            raise ConnectionResetError(errno.ECONNRESET, "The client took nothing for too long.") from None
        finally:
            if offered is not None:
                withdraw(offered)
        sock.settimeout(None)
        if not self.alive:
            raise StopIteration
        if self._is_encrypted or req.unreader.buf.getbuffer().nbytes or _has_unread(sock.fileno()):
            # A client that asks again before it is answered never has its thread wait. Without this it held everything
            # else up, the writing of what it publishes first of all.
            self._let_others_run()
        return again

    def is_already_handled(self, respiter: Iterable[bytes]) -> bool:
        """A connection that was taken over leaves the request loop."""
        if respiter is DETACHED:
            raise StopIteration
        return bool(super().is_already_handled(respiter))

    def handle_quit(self, sig: int, frame: types.FrameType | None) -> None:
        """Outside of the signal handler, where blocking calls are allowed."""
        handle = super().handle_quit
        self.spawn(lambda: handle(sig, frame))

    def handle_usr1(self, sig: int, frame: types.FrameType | None) -> None:
        """Likewise: reopening logs takes locks."""
        handle = super().handle_usr1
        self.spawn(lambda: handle(sig, frame))

    @staticmethod
    def settle() -> None:
        """Before serving: spare the garbage collector what was loaded, which it would look through again and again.

        Most of what a request leaves behind goes without it; with thousands of connections its full rounds take tens
        of milliseconds, in which nobody is written to.
        """
        gc.collect()
        gc.freeze()
        gc.set_threshold(GC_AFTER, 20, 50)

    def drain(self) -> None:
        """Tell the application, and end who is idle."""
        drain = getattr(self.wsgi, "drain", None)
        if drain is not None:
            drain()
        for sock in self.door.idle_sockets():
            cut(sock)  # Its reader sees the end, which is no error.

    @property
    def patience_s(self) -> float:
        """How long connections have to end."""
        return float(self.cfg.graceful_timeout) * DRAIN_SHARE

    def leaves_open(self) -> bool:
        """Whether the application still has bytes on their way."""
        is_drained = getattr(self.wsgi, "is_drained", None)
        return is_drained is not None and not is_drained()


def _has_unread(fd: int) -> bool:
    """Whether something has come that has not been read."""
    return fcntl.ioctl(fd, termios.FIONREAD, _NOTHING) != _NOTHING


def make_door(given: settings.Settings, *, count_max: int) -> ConnectionLimiter:
    """By the settings: loopback is no guest unless proxies are named, and proxies that were named never are."""
    places = PLACES_OF_A_CONNECTION * given.connections_per_address_max
    return ConnectionLimiter(
        count_max=count_max, per_address_max=places, is_exempt=exempt_from_limits(given.trusted_proxies)
    )
