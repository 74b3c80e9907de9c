"""What a client missed, while it is on its way to it."""

from __future__ import annotations

from collections.abc import Iterator


class ReplayBacklog:
    """What a client missed, made piece by piece, and what is to come behind it."""

    __slots__ = ("_pieces", "behind")

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self.behind = bytearray()

    def next(self) -> bytes:
        """The next piece, empty at the end."""
        piece = next(self._pieces, b"")
        if not piece:
            piece, self.behind = bytes(self.behind), bytearray()
        return piece
