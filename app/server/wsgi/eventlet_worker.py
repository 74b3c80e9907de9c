"""gunicorn's worker on eventlet, on its documented extension point `AsyncWorker`.

gunicorn dropped its own in version 26. This one accepts in a green thread per listener, gives each connection a
green thread, tells the master that it lives, and ends in order: stop accepting, drain, wait, leave.
Only this worker patches the standard library and sets the mode; the application is loaded after that.
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
    # eventlet says at import that it is in maintenance; we know, it is one backend behind this seam.
    warnings.simplefilter("ignore")
    import eventlet
    import eventlet.hubs
from gunicorn import util

from app.server.wsgi import mode
from app.server.wsgi.worker import SiarWorker

NOTIFY_S = 2.0
"""How often the master hears from us; it ends a worker that is silent for `timeout` (60 s)."""

LOOK_AGAIN_S = 0.02
"""Whether the last bytes have gone."""

ACCEPT_PAUSE_S = 0.1
"""Rest after an accept failed for want of descriptors: others may leave meanwhile."""

ACCEPTS_AT_ONCE = 16
"""Then the others have their turn: four thousand connections may be waiting to be accepted."""


class EventletWorker(SiarWorker):
    """On eventlet, the default."""

    def init_process(self) -> None:
        """Patch first, so that everything loaded later is green."""
        eventlet.monkey_patch()
        # A green socket is non-blocking underneath, which socket.sendfile refuses.
        self.cfg.set("sendfile", value=False)
        mode.use(mode.EVENTLET)
        eventlet.hubs.use_hub()
        super().init_process()

    def current(self) -> Any:
        """The green thread that runs."""
        return eventlet.getcurrent()

    def spawn(self, function: Any) -> None:
        """Run `function` in a green thread."""
        eventlet.spawn_n(function)

    def give_way(self) -> None:
        """Let the others have their turn."""
        eventlet.sleep(0)

    def pause(self, seconds: float) -> None:
        """Let this green thread sleep."""
        eventlet.sleep(seconds)

    def within(self, seconds: float) -> Any:
        """A context that leaves its block in silence when the time is over."""
        return eventlet.Timeout(seconds or None, exception=False)

    def run(self) -> None:
        """Serve until told to stop, then end in order."""
        self.alive: bool
        self.settle()
        self._pool = eventlet.GreenPool(self.worker_connections)
        acceptors = [eventlet.spawn(self._accept, listener) for listener in self._green_listeners()]
        while self.alive:
            self.notify()
            if self.ppid != os.getppid():
                self.log.info("The master has gone; leaving too.")
                self.alive = False
            self._wait_for_a_signal(NOTIFY_S)
        for acceptor in acceptors:
            acceptor.kill()
        self._end()

    def handle(self, listener: Any, client: Any, addr: Any) -> None:
        """Serve one connection; its own end is nobody else's error."""
        with self.place(addr) as has_place:
            if has_place:
                self._serve_connection(listener, client, addr)
            else:
                util.close(client)

    def _serve_connection(self, listener: Any, client: Any, addr: Any) -> None:
        try:
            if self.cfg.is_ssl:
                client = self.shake_hands(client)
            with self.serving(client, addr):
                super().handle(listener, client, addr)
        except (SystemExit, OSError):  # a failed TLS handshake is an OSError
            util.close(client)

    def _wait_for_a_signal(self, timeout_s: float) -> None:
        """Sleep, but wake at once for a signal: its handler has run when its number comes through the pipe.

        Python goes back to waiting when a signal interrupts the loop's `epoll_wait`; only a descriptor ends it.
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
                eventlet.sleep(0)  # While more are waiting, an accept never does.
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
        """Drain, then wait for the connections as long as the setting allows."""
        self.drain()
        with eventlet.Timeout(self.patience_s, exception=False):
            self._pool.waitall()
            while self.leaves_open():
                eventlet.sleep(LOOK_AGAIN_S)
        if self._pool.running():
            self.log.warning("%d connections did not end in time.", self._pool.running())
            sys.exit(0)
