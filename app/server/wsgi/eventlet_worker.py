"""A gunicorn worker on eventlet, built on gunicorn's documented extension point `AsyncWorker`.

gunicorn removed its own eventlet worker in version 26. This one accepts in a green thread per listener, gives each
connection a green thread, and sends heartbeats to the master. It shuts down in order: stop accepting, drain, wait,
exit. Only this worker patches the standard library and sets the mode; the application is loaded after that.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import socket
import sys
import warnings
from typing import Any

with warnings.catch_warnings():
    # eventlet warns at import that it is in maintenance mode; it is one of two interchangeable backends.
    warnings.simplefilter("ignore")
    import eventlet
    import eventlet.hubs
from gunicorn import util

from app.server.wsgi import mode
from app.server.wsgi.worker import SiarWorker

NOTIFY_S = 2.0
"""Interval of heartbeats to the master, which kills a worker that is silent for `timeout` (60 s)."""

LOOK_AGAIN_S = 0.02
"""Interval at which a drain checks whether the last bytes have left."""

ACCEPT_PAUSE_S = 0.1
"""Pause after an accept failed for lack of descriptors: connections may close meanwhile."""

ACCEPTS_AT_ONCE = 16
"""Accepts in a row before other green threads run: four thousand connections may be waiting."""


class EventletWorker(SiarWorker):
    """The worker on eventlet, which is the default."""

    def init_process(self) -> None:
        """Patch the standard library first, so that everything loaded later is green."""
        eventlet.monkey_patch()
        # A green socket is non-blocking underneath, which `socket.sendfile` refuses.
        self.cfg.set("sendfile", value=False)
        mode.use(mode.EVENTLET)
        eventlet.hubs.use_hub()
        super().init_process()

    def current(self) -> Any:
        """Return the running green thread."""
        return eventlet.getcurrent()

    def spawn(self, function: Any) -> None:
        """Run `function` in a green thread."""
        eventlet.spawn_n(function)

    def yield_now(self) -> None:
        """Let other green threads run."""
        eventlet.sleep(0)

    def pause(self, seconds: float) -> None:
        """Suspend this green thread."""
        eventlet.sleep(seconds)

    def time_limit(self, seconds: float) -> Any:
        """Return a context that leaves its block silently after `seconds`."""
        return eventlet.Timeout(seconds or None, exception=False)

    def run(self) -> None:
        """Serve until a stop is requested, then shut down in order."""
        self.alive: bool
        self.settle()
        self._pool = eventlet.GreenPool(self.worker_connections)
        listeners = self._green_listeners()
        acceptors = [eventlet.spawn(self._accept, listener) for listener in listeners]
        while self.alive:
            self.notify()
            if self.ppid != os.getppid():
                self.log.info("The master has gone; leaving too.")
                self.alive = False
            self._wait_for_a_signal(NOTIFY_S)
        for acceptor, listener in zip(acceptors, listeners, strict=True):
            acceptor.kill()
            listener.close()  # Left open, it would take connections that nobody serves.
        self._end()

    def handle(self, listener: Any, client: Any, addr: Any) -> None:
        """Serve one connection. Its end is not an error."""
        with self.place(addr) as has_place:
            if has_place:
                self._serve_connection(listener, client, addr)
            else:
                util.close(client)

    def _serve_connection(self, listener: Any, client: Any, addr: Any) -> None:
        try:
            if self.cfg.is_ssl:
                client = self.start_tls(client)
            with self.serving(client, addr):
                super().handle(listener, client, addr)
        except (SystemExit, OSError):  # a failed TLS handshake is an OSError
            util.close(client)

    def _wait_for_a_signal(self, timeout_s: float) -> None:
        """Sleep until the timeout or a signal, whose number arrives through the pipe after its handler has run.

        Python resumes `epoll_wait` after a signal; only a readable descriptor ends the wait.
        """
        with eventlet.Timeout(timeout_s, exception=False):
            eventlet.hubs.trampoline(self.PIPE[0], read=True)
            with contextlib.suppress(BlockingIOError):
                os.read(self.PIPE[0], 4096)

    def _green_listeners(self) -> list[Any]:
        listeners = []
        for wrapped in self.sockets:
            plain = wrapped.sock
            plain.setblocking(False)  # noqa: FBT003 - the standard library's signature
            listeners.append(eventlet.greenio.GreenSocket(plain))
        return listeners

    def _accept(self, listener: Any) -> None:
        for number in itertools.count():
            if not self.alive:
                return
            if number % ACCEPTS_AT_ONCE == 0:
                eventlet.sleep(0)  # An accept never blocks while more connections are waiting.
            try:
                client, address = listener.accept()
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                    self.log.warning("Cannot accept: %s. Raise the limit on open files (ulimit -n).", error)
                    eventlet.sleep(ACCEPT_PAUSE_S)
                    continue
                if error.errno not in (errno.ECONNABORTED, errno.EINTR):
                    self.log.warning("An accept failed: %s.", error)
                    eventlet.sleep(ACCEPT_PAUSE_S)
                continue
            with contextlib.suppress(OSError):
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._pool.spawn_n(self.handle, listener, client, address)

    def _end(self) -> None:
        """Drain, then wait for the connections until the graceful timeout."""
        self.drain()
        with eventlet.Timeout(self.drain_s_max, exception=False):
            self._pool.waitall()
            while self.has_unsent():
                eventlet.sleep(LOOK_AGAIN_S)
        if self._pool.running():
            self.log.warning("%d connections did not end in time.", self._pool.running())
            sys.exit(0)
