"""gunicorn's worker on gevent: what eventlet's does, for the day on which eventlet is no more.

gunicorn has one of its own, whose connections cannot be taken over and whose drain looks once a second.
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
"""How often the master hears from us."""

LOOK_AGAIN_S = 0.02
"""Whether we are to stop, or the last bytes have gone."""


class GeventWorker(SiarWorker):
    """On gevent."""

    def init_process(self) -> None:
        """Patch first, so that everything loaded later is green."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # The configuration has loaded ssl; nothing has used it yet.
            monkey.patch_all()
        self.cfg.set("sendfile", value=False)
        mode.use(mode.GEVENT)
        hub.reinit()
        super().init_process()

    def current(self) -> Any:
        """The green thread that runs."""
        return gevent.getcurrent()

    def spawn(self, function: Any) -> None:
        """Run `function` in a green thread."""
        gevent.spawn(function)

    def give_way(self) -> None:
        """Let the others have their turn."""
        gevent.sleep(0)

    def pause(self, seconds: float) -> None:
        """Let this green thread sleep."""
        gevent.sleep(seconds)

    def within(self, seconds: float) -> Any:
        """A context that leaves its block in silence when the time is over."""
        return gevent.Timeout(seconds or None, exception=False)

    def run(self) -> None:
        """Serve until told to stop, then end in order."""
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
        with gevent.Timeout(self.patience_s, exception=False):
            while self.leaves_open() or len(pool):
                gevent.sleep(LOOK_AGAIN_S)
        if len(pool):
            self.log.warning("%d connections did not end in time.", len(pool))
            sys.exit(0)

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
        except (SystemExit, OSError, gevent.GreenletExit):  # a failed TLS handshake is an OSError
            util.close(client)

    def _serve(self, plain: Any, pool: Any) -> Any:
        listener = green_socket.socket(plain.family, plain.type, fileno=plain.detach())
        server = StreamServer(listener, handle=partial(self.handle, listener), spawn=pool)
        server.start()
        return server
