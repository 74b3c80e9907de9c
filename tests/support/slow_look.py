"""The server with a long moment between its look at a connection and the reading from it: `gunicorn ...slow_look:app`.

What a busy machine does now and then, each time: a client that asks again within that moment is never seen to have
asked, and never waited for.
"""

from __future__ import annotations

import time
from collections.abc import Hashable
from typing import Any

from app.server.wsgi.connection_limiter import ConnectionLimiter
from wsgi import app

__all__ = ["app"]

MOMENT_S = 0.005

_begin_idle = ConnectionLimiter.begin_idle


def _begin_late(self: ConnectionLimiter, address: str, key: Hashable, sock: Any) -> None:
    until_s = time.perf_counter() + MOMENT_S
    while time.perf_counter() < until_s:
        pass
    _begin_idle(self, address, key, sock)


ConnectionLimiter.begin_idle = _begin_late  # type: ignore[method-assign]
