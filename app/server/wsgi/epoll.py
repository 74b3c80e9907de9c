"""The kernel's epoll, which green-thread libraries remove from `select` when they patch it."""

from __future__ import annotations

import select
from typing import Any

from app.server.wsgi import mode

IN = 0x001
OUT = 0x004
ERROR = 0x008
HANG_UP = 0x010
PEER_CLOSED = 0x2000
"""EPOLLIN, EPOLLOUT, EPOLLERR, EPOLLHUP, EPOLLRDHUP of epoll_ctl(2): a patched `select` lacks these names as well."""


def make() -> Any | None:
    """Return a new `epoll` object, or `None` on a platform without epoll."""
    if mode.current() == mode.EVENTLET:
        from eventlet import patcher

        factory = getattr(patcher.original("select"), "epoll", None)
    elif mode.current() == mode.GEVENT:
        from gevent import monkey

        factory = monkey.get_original("select", "epoll")
    else:
        factory = getattr(select, "epoll", None)
    return None if factory is None else factory()
