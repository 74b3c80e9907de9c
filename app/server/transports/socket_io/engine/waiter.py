"""Let a request's thread sleep until it is woken, a timeout passes or its client leaves.

The thread, green or not, waits for two descriptors: one that `wake` writes to, and the request's socket, on which nothing
else reads during the request.
"""

from __future__ import annotations

import os
import select
import socket
from enum import Enum

from app.server.wsgi import mode

_PEEK = socket.MSG_PEEK | getattr(socket, "MSG_DONTWAIT", 0)


class Outcome(Enum):
    """Outcome of a wait."""

    WOKEN = "woken"
    TIMED_OUT = "timed out"
    PEER_GONE = "peer gone"


class Waiter:
    """One wait. Any thread may call `wake` until `close`; the rest belongs to the waiting thread."""

    def __init__(self, sock: socket.socket | None) -> None:
        self._sock = sock
        """`None` if the WSGI server hides the socket; then a client that left is noticed only when it is written to."""
        if hasattr(os, "eventfd"):
            self._wakeup_fd = self._wakeup_write_fd = os.eventfd(0, os.EFD_CLOEXEC)
        else:
            self._wakeup_fd, self._wakeup_write_fd = os.pipe()

    def wake(self) -> None:
        """End the wait."""
        os.write(self._wakeup_write_fd, (1).to_bytes(8, "little"))

    def wait(self, timeout_s: float | None) -> Outcome:
        """Wait until `wake`, for `timeout_s` at most, or until the peer ends its connection."""
        while True:
            watched = [self._wakeup_fd] if self._sock is None else [self._wakeup_fd, self._sock.fileno()]
            ready = _readable(watched, timeout_s)
            if self._wakeup_fd in ready:
                return Outcome.WOKEN
            if not ready:
                return Outcome.TIMED_OUT
            if self._peer_has_gone():
                return Outcome.PEER_GONE
            # A pipelined request, or TLS data, which cannot be inspected: stop watching the socket.
            self._sock = None

    def close(self) -> None:
        """Close the descriptors."""
        os.close(self._wakeup_fd)
        if self._wakeup_write_fd != self._wakeup_fd:
            os.close(self._wakeup_write_fd)

    def _peer_has_gone(self) -> bool:
        assert self._sock is not None
        try:
            return self._sock.recv(1, _PEEK) == b""
        except (BlockingIOError, ValueError):
            return False
        except OSError:
            return True


def _readable(fds: list[int], timeout_s: float | None) -> list[int]:
    if mode.current() != mode.THREADS:
        return select.select(fds, [], [], timeout_s)[0]  # Green, and accepts any descriptor.
    poll = select.poll()  # `select` itself is limited to descriptors below 1,024.
    for fd in fds:
        poll.register(fd, select.POLLIN)
    return [fd for fd, _events in poll.poll(None if timeout_s is None else timeout_s * 1000)]
