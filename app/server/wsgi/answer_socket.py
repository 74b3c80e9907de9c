"""Where a short answer is written: at once, as far as the kernel takes it, and the rest as green threads do it.

Between two broadcasts a green socket's own way to `send` takes as long as several writes to subscribers.
"""

from __future__ import annotations

import posix  # The kernel's calls themselves: green-thread libraries replace what `os` offers.
from typing import Any

SEND_IDLE_S = 60.0
"""How long a peer may take nothing of an answer; a phone that was put away for a minute comes back and asks again."""


class AnswerSocket:
    """What gunicorn needs of a plain socket to write an answer; the bytes of an encrypted one are not for the kernel."""

    __slots__ = ("_fd", "_sock")

    def __init__(self, sock: Any) -> None:
        self._sock = sock
        self._fd: int = sock.fileno()

    def sendall(self, data: bytes) -> None:
        """All of `data`. Raises `OSError`, of which a `TimeoutError` where the peer takes nothing for too long."""
        try:
            taken = posix.write(self._fd, data)
        except BlockingIOError:
            taken = 0
        if taken < len(data):
            self._sock.settimeout(SEND_IDLE_S)
            self._sock.sendall(memoryview(data)[taken:])
            self._sock.settimeout(None)
