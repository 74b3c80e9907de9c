"""The value that a WSGI application returns after detaching a connection; our workers compare by identity.

This module imports nothing, because the workers need it before they patch the standard library.
"""

from __future__ import annotations

from collections.abc import Iterator


class _Handled:
    """An empty body that is not a list: python-engineio would turn a list into an HTTP response after an upgrade."""

    def __iter__(self) -> Iterator[bytes]:
        return iter(())


DETACHED = _Handled()
"""The connection is detached: the worker leaves its request loop and writes nothing."""
