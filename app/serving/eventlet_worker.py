"""gunicorn's worker on eventlet, on its documented extension point `AsyncWorker`.

gunicorn dropped its own in version 26. This one accepts in a green thread per listener, gives each connection a
green thread, tells the master that it lives, and ends in order: stop accepting, drain, wait, leave.
Only this worker patches the standard library and sets the mode; the application is loaded after that.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import sys
import types
import warnings
from collections.abc import Iterator
from typing import Any

with warnings.catch_warnings():
    # eventlet says at import that it is in maintenance; we know, it is one backend behind this seam.
    warnings.simplefilter("ignore")
    import eventlet
    import eventlet.hubs
from gunicorn import util
from gunicorn.sock import ssl_wrap_socket
from gunicorn.workers.base_async import AsyncWorker

from app.serving import mode
from app.serving.peer import cut
from app.serving.takeover import UNREADER
from app.serving.websocket import HANDLED

NOTIFY_S = 1.0
"""How often the master hears from us; it ends a worker that is silent for `timeout` (30 s)."""

DRAIN_SHARE = 0.7
"""Of the master's patience: what has not ended by then is left to end with the process, before the master kills it."""

ACCEPT_PAUSE_S = 0.1
"""Rest after an accept failed for want of descriptors: others may leave meanwhile."""


class EventletWorker(AsyncWorker):  # type: ignore[misc]
    """One process, one loop, a green thread per connection."""

    def init_process(self) -> None:
        """Patch first, so that everything loaded later is green."""
        self._idle: set[Any] = set()
        self._clients: dict[Any, Any] = {}
        eventlet.monkey_patch()
        # A green socket is non-blocking underneath, which socket.sendfile refuses.
        self.cfg.set("sendfile", value=False)
        mode.use(mode.EVENTLET)
        eventlet.hubs.use_hub()
        super().init_process()

    @contextlib.contextmanager
    def timeout_ctx(self) -> Iterator[None]:
        """Around the wait for a connection's next request: ends an idle one, and lets a drain find it."""
        waiting = eventlet.getcurrent()
        self._idle.add(waiting)
        try:
            with eventlet.Timeout(self.cfg.keepalive or None, exception=False):
                yield
        finally:
            self._idle.discard(waiting)

    def handle_request(self, listener_name: Any, req: Any, sock: Any, addr: Any) -> bool:
        """One request; while leaving, the last one of its connection."""
        if not self.cfg.is_ssl:
            setattr(
                sock, UNREADER, req.unreader
            )  # This connection may be taken over, with what was read of it.
        again = super().handle_request(listener_name, req, sock, addr)
        if not self.alive:
            raise StopIteration
        return bool(again)

    def is_already_handled(self, respiter: object) -> bool:
        """A connection that was taken over leaves the request loop."""
        if respiter is HANDLED:
            raise StopIteration
        return bool(super().is_already_handled(respiter))

    def handle_quit(self, sig: int, frame: types.FrameType | None) -> None:
        """Outside of the signal handler, where blocking calls are allowed."""
        eventlet.spawn(super().handle_quit, sig, frame)

    def handle_usr1(self, sig: int, frame: types.FrameType | None) -> None:
        """Likewise: reopening logs takes locks."""
        eventlet.spawn(super().handle_usr1, sig, frame)

    def run(self) -> None:
        """Serve until told to stop, then end in order."""
        self.alive: bool
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
        self._drain()

    def handle(self, listener: Any, client: Any, addr: Any) -> None:
        """Serve one connection; its own end is nobody else's error."""
        serving = eventlet.getcurrent()
        try:
            if self.cfg.is_ssl:
                client = ssl_wrap_socket(client, self.cfg)
            self._clients[serving] = client
            super().handle(listener, client, addr)
        except (SystemExit, OSError):  # a failed TLS handshake is an OSError
            util.close(client)
        finally:
            self._clients.pop(serving, None)

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
        while self.alive:
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

    def _drain(self) -> None:
        """Tell the application, then wait for its connections as long as the setting allows."""
        drain = getattr(self.wsgi, "drain", None)
        if drain is not None:
            drain()
        for waiting in list(self._idle):
            cut(self._clients.get(waiting))  # its reader sees the end, which is no error
        with eventlet.Timeout(self.cfg.graceful_timeout * DRAIN_SHARE, exception=False):
            self._pool.waitall()
        if self._pool.running():
            self.log.warning("%d connections did not end in time.", self._pool.running())
            sys.exit(0)
