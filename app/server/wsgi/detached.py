"""What a WSGI application returns when it has taken the connection over; our workers know it by identity.

Apart from everything else because the workers need it before they patch the standard library.
"""

from __future__ import annotations

from collections.abc import Iterator


class _Handled:
    """An empty body that is no list: of a list python-engineio would make an HTTP answer, after an upgrade."""

    def __iter__(self) -> Iterator[bytes]:
        return iter(())


DETACHED = _Handled()
"""The connection is somebody else's now: leave the request loop, write nothing."""
