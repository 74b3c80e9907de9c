"""Who answers a request's head that comes again (repeats.py), past all that stands before it.

a POST -> guard -> ... -> whoever knows by its head that it is its own, and takes the shortcut
the same head again ---> at once
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

WsgiApp = Callable[..., Iterable[bytes]]

KEY = "siar.shortcut"
"""In `environ`, a `Shortcut`: of a request that may come again."""

EARLY_HINTS = "wsgi.early_hints"
"""In `environ`; it belongs to one response."""


class Shortcut:
    """Of one head on one connection."""

    __slots__ = ("app", "environ")

    def __init__(self) -> None:
        self.app: WsgiApp | None = None
        """`None`: everybody is asked, as for every request."""
        self.environ: dict[str, Any] = {}

    def take(self, app: WsgiApp, environ: dict[str, Any]) -> None:
        """From now on `app` is asked, with `environ` as it is now and a body of its own each time.

        For whoever has decided by the head and the connection alone that a request is its own, and would so each time.
        It takes no connection over.
        """
        self.app = app
        self.environ = {**environ, "wsgi.multithread": True}
        self.environ.pop(EARLY_HINTS, None)
