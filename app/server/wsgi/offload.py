"""Runs blocking work, such as disk access, off the event loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from app.server.wsgi import mode

P = ParamSpec("P")
R = TypeVar("R")


def blocking(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call `function` in a native thread while other green threads run; directly where all threads are native."""
    if mode.current() == mode.EVENTLET:
        from eventlet import tpool

        return tpool.execute(function, *args, **kwargs)  # type: ignore[no-any-return]
    if mode.current() == mode.GEVENT:
        import gevent

        return gevent.get_hub().threadpool.apply(function, args, kwargs)  # type: ignore[no-any-return]
    return function(*args, **kwargs)
