"""What our gunicorn workers have in common, whichever green threads they run on.

1. A connection that the application took over leaves the request loop, and is not closed by it.
2. Idle connections are known, so that a drain ends them at once.
3. A drain stops accepting, tells the application, and waits for its connections within the master's patience.
"""

from __future__ import annotations

import gc
import types
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from gunicorn.sock import ssl_wrap_socket
from gunicorn.workers.base_async import AsyncWorker

from app.serving import plain_request
from app.serving.handled import HANDLED
from app.serving.peer import cut
from app.serving.takeover import offered

DRAIN_SHARE = 0.7
"""Of the master's patience: what has not ended by then is left to end with the process, before the master kills it."""


GC_AFTER = 20_000
"""Objects more than before, where Python's default is 700 (and 2,000 from 3.13 on)."""


class SiarWorker(AsyncWorker):  # type: ignore[misc]
    """One process, one loop, a green thread for each connection until it is taken over."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._idle: set[Any] = set()
        self._clients: dict[Any, Any] = {}

    def current(self) -> Any:
        """The green thread that runs."""
        raise NotImplementedError

    def spawn(self, function: Any) -> None:
        """Run `function` in a green thread."""
        raise NotImplementedError

    def give_way(self) -> None:
        """Let the others have their turn."""
        raise NotImplementedError

    def waits_for_request(self) -> Any:
        """A context that ends an idle connection."""
        raise NotImplementedError

    @contextmanager
    def timeout_ctx(self) -> Iterator[None]:
        """Around the wait for a connection's next request: ends an idle one, and lets a drain find it."""
        # A client that asks again as soon as it is answered never has its thread wait: its next request is there
        # already. Without this it held everything else up, the writing of what it publishes first of all.
        self.give_way()
        waiting = self.current()
        self._idle.add(waiting)
        try:
            with self.waits_for_request():
                yield
        finally:
            self._idle.discard(waiting)

    def shake_hands(self, client: Any) -> Any:
        """TLS around an accepted connection. Raises `OSError`, too when the client takes too long to say hello."""
        encrypted = None
        try:
            with self.waits_for_request():  # Ends the block in silence when the time is over.
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
    def serving(self, client: Any) -> Iterator[None]:
        """Around a connection."""
        green = self.current()
        self._clients[green] = client
        try:
            yield
        finally:
            self._clients.pop(green, None)

    def handle_request(self, listener_name: Any, req: Any, sock: Any, addr: Any) -> bool:
        """One request; while leaving, the last one of its connection."""
        if self.cfg.is_ssl:
            again = super().handle_request(listener_name, req, sock, addr)
        else:
            with offered(sock, req.unreader):
                again = super().handle_request(listener_name, req, sock, addr)
        if not self.alive:
            raise StopIteration
        return bool(again)

    def is_already_handled(self, respiter: Iterable[bytes]) -> bool:
        """A connection that was taken over leaves the request loop."""
        if respiter is HANDLED:
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
        for waiting in list(self._idle):
            cut(self._clients.get(waiting))  # Its reader sees the end, which is no error.

    @property
    def patience_s(self) -> float:
        """How long connections have to end."""
        return float(self.cfg.graceful_timeout) * DRAIN_SHARE

    def leaves_open(self) -> bool:
        """Whether the application still has bytes on their way."""
        is_drained = getattr(self.wsgi, "is_drained", None)
        return is_drained is not None and not is_drained()
