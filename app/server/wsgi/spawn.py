"""Starts threads of the current kind cheaply: the patched `threading` adds 100 us to a green thread."""

from __future__ import annotations

import threading
from collections.abc import Callable

from app.server.wsgi import mode


def spawn(function: Callable[[], None]) -> None:
    """Run `function` soon in a thread of its own, which is green where threads are."""
    if mode.current() == mode.EVENTLET:
        import eventlet

        eventlet.spawn_n(function)
    elif mode.current() == mode.GEVENT:
        import gevent

        gevent.spawn(function)
    else:
        threading.Thread(target=function, daemon=True).start()
