"""A gunicorn worker on gevent, equivalent to the eventlet worker: a second choice in case eventlet is abandoned.

gunicorn's own gevent worker cannot detach connections, and its drain polls once a second.
"""

from __future__ import annotations

import os
import sys
import warnings
from functools import partial
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import gevent
    from gevent import hub, monkey
    from gevent import socket as green_socket
    from gevent.pool import Pool
    from gevent.server import StreamServer
from gunicorn import util

from app.server.wsgi import mode
from app.server.wsgi.worker import SiarWorker

NOTIFY_S = 2.0
"""Interval of heartbeats to the master."""

LOOK_AGAIN_S = 0.02
"""Interval at which it checks for a stop, and whether the last bytes have left."""


class GeventWorker(SiarWorker):
    """The worker on gevent."""

    def init_process(self) -> None:
        """Patch the standard library first, so that everything loaded later is green."""
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # The configuration has imported ssl, but nothing has used it yet.
            monkey.patch_all()
        self.cfg.set("sendfile", value=False)
        mode.use(mode.GEVENT)
        hub.reinit()
        super().init_process()

    def current(self) -> Any:
        """Return the running green thread."""
        return gevent.getcurrent()

    def spawn(self, function: Any) -> None:
        """Run `function` in a green thread."""
        gevent.spawn(function)

    def yield_now(self) -> None:
        """Let other green threads run."""
        gevent.sleep(0)

    def pause(self, seconds: float) -> None:
        """Suspend this green thread."""
        gevent.sleep(seconds)

    def time_limit(self, seconds: float) -> Any:
        """Return a context that leaves its block silently after `seconds`."""
        return gevent.Timeout(seconds or None, exception=False)

    def run(self) -> None:
        """Serve until a stop is requested, then shut down in order."""
        self.alive: bool
        self.settle()
        pool = Pool(self.worker_connections)
        servers = [self._serve(wrapped.sock, pool) for wrapped in self.sockets]
        while self.alive:
            self.notify()
            if self.ppid != os.getppid():
                self.log.info("The master has gone; leaving too.")
                self.alive = False
            with gevent.Timeout(NOTIFY_S, exception=False):
                while self.alive:
                    gevent.sleep(LOOK_AGAIN_S)
        for server in servers:
            server.close()
        self.drain()
        with gevent.Timeout(self.drain_s_max, exception=False):
            while self.has_unsent() or len(pool):
                gevent.sleep(LOOK_AGAIN_S)
        if len(pool):
            self.log.warning("%d connections did not end in time.", len(pool))
            sys.exit(0)

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
        except (SystemExit, OSError, gevent.GreenletExit):  # a failed TLS handshake is an OSError
            util.close(client)

    def _serve(self, plain: Any, pool: Any) -> Any:
        listener = green_socket.socket(plain.family, plain.type, fileno=plain.detach())
        server = StreamServer(listener, handle=partial(self.handle, listener), spawn=pool)
        server.start()
        return server
