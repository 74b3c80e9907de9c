"""Base class of our gunicorn workers, independent of the green threads that they run on.

1. A connection that the application has taken over leaves the request loop, which does not close it.
2. Idle connections are known: a drain ends them at once, and the limiter closes one where a place is needed.
3. A drain stops listening, informs the application, and waits for its connections within the graceful timeout.
"""

from __future__ import annotations

import errno
import fcntl
import gc
import os
import signal
import termios
import types
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from typing import Any, ClassVar

from gunicorn.sock import ssl_wrap_socket
from gunicorn.workers.base_async import AsyncWorker

from app import clock, settings
from app.core.forwarded import exempt_from_limits
from app.server.wsgi import connection_limiter, plain_request, request_parser
from app.server.wsgi.connection_limiter import PACKET, ConnectionLimiter
from app.server.wsgi.detached import DETACHED
from app.server.wsgi.peer import cut
from app.server.wsgi.takeover import offer, withdraw
from app.server.wsgi.timed_body import TimedReader, has_come, wire_bytes_max

DRAIN_SHARE = 0.7
"""Share of the graceful timeout that a drain uses. Connections that are still open then end with the process, before the
master kills it."""

FIRST_REQUEST_S = 15.0
"""Time from the accept to the end of the first request's head, and for a TLS handshake. Later requests have `keepalive`."""

SEND_IDLE_S = 60.0
"""Time for which a peer may read nothing of a response; a phone that sleeps for a minute reconnects and asks again."""

PLACES_OF_A_CONNECTION = 2
"""A client that polls needs two: one for the poll that waits, and one for a POST at the same time."""

SPARE = 100
"""Green threads of the worker that are reserved for other purposes than connections."""

WITHOUT_YIELD_US_MAX = 8_000
"""Time after which the requests of one connection yield to other green threads, although the thread never waits. A yield
costs 50 to 90 us with the cold caches that follow. A client that sends its next request between the check of its socket and
the read from it is never seen waiting; publishing in a loop, such a client delayed everybody else by 50 ms and more."""

WAITED_US_MIN = 10_000
"""A read of a request that takes at least this long has waited, so that other green threads have run. It is many times the
cost of reading, so that a process which was preempted amid the read is not taken for one that waited."""

_NOTHING = bytes(4)
"""The answer of FIONREAD (an int) where nothing is unread."""

GC_AFTER = 20_000
"""Net allocations before a garbage collection; Python's default is 700, and 2,000 from 3.13 on."""


class YieldTimer:
    """Measures the time since other green threads last ran; there is one per worker."""

    def __init__(self) -> None:
        self._yielded_us = clock.monotonic_us()

    def restart(self) -> None:
        """Record that the others run now."""
        self._yielded_us = clock.monotonic_us()

    def note_wait(self, began_us: int) -> None:
        """Record that a thread has its request, for which it began to wait at `began_us`, or found it there."""
        if clock.monotonic_us() - began_us >= WAITED_US_MIN:
            self.restart()

    def is_due(self) -> bool:
        """Return True if the others have waited long enough, as far as is known."""
        return clock.monotonic_us() - self._yielded_us >= WITHOUT_YIELD_US_MAX


class SiarWorker(AsyncWorker):  # type: ignore[misc]
    """One process, one loop, a green thread for each connection until it is taken over."""

    SIGNALS: ClassVar = [each for each in AsyncWorker.SIGNALS if each != signal.SIGHUP]
    """Signals that gunicorn resets in a new worker. A hang-up is sent to the whole group; the master decides what it means."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._connections: dict[Any, tuple[Any, str]] = {}
        """The connection and its peer's address, by green thread."""
        self._yield_timer = YieldTimer()
        self._awaiting_first: set[Any] = set()
        """Green threads whose connection has not sent a request yet."""
        given = settings.read(os.environ)
        self.body_bytes_max = wire_bytes_max(given.publish_body_bytes_max, given.packet_bytes_max)
        """Upper bound of what is read of one request's body."""
        self.limiter = make_limiter(given, count_max=self.worker_connections - SPARE)

    def init_process(self) -> None:
        """Replace parts of gunicorn's request parser, and set the process's connection limiter."""
        request_parser.use()
        connection_limiter.use(self.limiter)
        super().init_process()

    def init_signals(self) -> None:
        """Ignore a hang-up."""
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        super().init_signals()

    @cached_property
    def _is_encrypted(self) -> bool:
        """True with TLS. Cached, because gunicorn looks its settings up each time."""
        return bool(self.cfg.is_ssl)

    def current(self) -> Any:
        """Return the running green thread."""
        raise NotImplementedError

    def spawn(self, function: Any) -> None:
        """Run `function` in a green thread."""
        raise NotImplementedError

    def yield_now(self) -> None:
        """Let other green threads run."""
        raise NotImplementedError

    def pause(self, seconds: float) -> None:
        """Suspend this green thread."""
        raise NotImplementedError

    def time_limit(self, seconds: float) -> AbstractContextManager[Any]:
        """Return a context that leaves its block silently after `seconds`."""
        raise NotImplementedError

    def _let_others_run(self) -> None:
        self._yield_timer.restart()
        self.yield_now()

    @contextmanager
    def timeout_ctx(self) -> Iterator[None]:
        """Context of the wait for a connection's next request. It ends an idle one, and a drain finds it."""
        green = self.current()
        if green in self._awaiting_first:
            self._let_others_run()
        sock, address = self._connections[green]
        wait_s = self.limiter.wait_s(address)
        if wait_s:
            self.pause(wait_s)
            if not self.alive:
                cut(sock)  # A drain may have begun meanwhile, and did not find it among the idle ones.
        self.limiter.begin_idle(address, green, sock)
        try:
            with self.time_limit(FIRST_REQUEST_S if green in self._awaiting_first else self.cfg.keepalive):
                if self._yield_timer.is_due():
                    self._let_others_run()
                began_us = clock.monotonic_us()
                yield
                self._yield_timer.note_wait(began_us)
        finally:
            self._awaiting_first.discard(green)
            self.limiter.end_idle(green)

    def start_tls(self, client: Any) -> Any:
        """Return the TLS socket of an accepted connection after its handshake. Raises `OSError`, also at a timeout."""
        encrypted = None
        try:
            with self.time_limit(FIRST_REQUEST_S):
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
        """Context of a connection, whose value is True if the limiter has a place for it."""
        address = addr[0] if isinstance(addr, tuple) else ""  # A Unix socket's peer has none.
        has_place = self.limiter.enter(address)
        try:
            yield has_place
        finally:
            if has_place:
                self.limiter.leave(address)

    @contextmanager
    def serving(self, client: Any, addr: Any) -> Iterator[None]:
        """Context in which the requests of a connection are served."""
        green = self.current()
        self._connections[green] = client, addr[0] if isinstance(addr, tuple) else ""
        self._awaiting_first.add(green)
        try:
            yield
        finally:
            self._awaiting_first.discard(green)
            del self._connections[green]

    def handle_request(self, listener_name: Any, req: Any, sock: Any, addr: Any) -> bool:
        """Serve one request; during a drain, it is the last one of its connection."""
        if not has_come(req.body.reader):
            _sock, address = self._connections[self.current()]
            req.body.reader = TimedReader(
                req.body.reader,
                req.unreader,
                bytes_max=self.body_bytes_max,
                limit=self.time_limit,
                yield_now=lambda: self.pause(self.limiter.wait_s(address, PACKET)),
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
            # The thread of a client that pipelines requests never waits, so it would block all others, the flusher first.
            self._let_others_run()
        return again

    def is_already_handled(self, respiter: Iterable[bytes]) -> bool:
        """Make a connection that was taken over leave the request loop, by `StopIteration`."""
        if respiter is DETACHED:
            raise StopIteration
        return bool(super().is_already_handled(respiter))

    def handle_quit(self, sig: int, frame: types.FrameType | None) -> None:
        """Quit outside of the signal handler, so that blocking calls are allowed."""
        handle = super().handle_quit
        self.spawn(lambda: handle(sig, frame))

    def handle_usr1(self, sig: int, frame: types.FrameType | None) -> None:
        """Reopen the logs outside of the signal handler, because that takes locks."""
        handle = super().handle_usr1
        self.spawn(lambda: handle(sig, frame))

    @staticmethod
    def settle() -> None:
        """Exempt what was loaded before serving from garbage collection, and collect rarely.

        Reference counting frees most of what a request leaves. With thousands of connections, a full collection takes
        tens of milliseconds, during which nothing is written.
        """
        gc.collect()
        gc.freeze()
        gc.set_threshold(GC_AFTER, 20, 50)

    def drain(self) -> None:
        """Inform the application that the worker ends, and close the idle connections."""
        drain = getattr(self.wsgi, "drain", None)
        if drain is not None:
            drain()
        for sock in self.limiter.idle_sockets():
            cut(sock)  # Its reader sees an orderly end, not an error.

    @property
    def drain_s_max(self) -> float:
        """Return the time that connections have to end."""
        return float(self.cfg.graceful_timeout) * DRAIN_SHARE

    def has_unsent(self) -> bool:
        """Return True while the application has bytes that have not been sent."""
        is_drained = getattr(self.wsgi, "is_drained", None)
        return is_drained is not None and not is_drained()


def _has_unread(fd: int) -> bool:
    """Return True if bytes have arrived that were not read."""
    return fcntl.ioctl(fd, termios.FIONREAD, _NOTHING) != _NOTHING


def make_limiter(given: settings.Settings, *, count_max: int) -> ConnectionLimiter:
    """Return the limiter by the settings. Exempt are the trusted proxies, or loopback if none are named."""
    places = PLACES_OF_A_CONNECTION * given.connections_per_address_max
    return ConnectionLimiter(
        count_max=count_max, per_address_max=places, is_exempt=exempt_from_limits(given.trusted_proxies)
    )
