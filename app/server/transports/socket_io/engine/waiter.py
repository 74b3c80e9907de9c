"""A request that waits for something of ours and notices meanwhile that its client has left.

Its own thread, green or not, waits for two descriptors: a bell that we ring, and the request's socket, on which nobody
else reads while the request is being answered.
"""

from __future__ import annotations

import os
import select
import socket
from enum import Enum

from app.server.wsgi import mode

_PEEK = socket.MSG_PEEK | getattr(socket, "MSG_DONTWAIT", 0)


class Outcome(Enum):
    """How a wait ended."""

    WOKEN = "woken"
    TIMED_OUT = "timed out"
    PEER_GONE = "peer gone"


class Waiter:
    """One wait. `wake` may be called from any thread, until `close`; the rest belongs to the waiting thread."""

    def __init__(self, sock: socket.socket | None) -> None:
        self._sock = sock
        """`None` where the server hides it: then a client that left is noticed when it is written to."""
        if hasattr(os, "eventfd"):
            self._bell = self._rope = os.eventfd(0, os.EFD_CLOEXEC)
        else:
            self._bell, self._rope = os.pipe()

    def wake(self) -> None:
        """End the wait."""
        os.write(self._rope, (1).to_bytes(8, "little"))

    def wait(self, timeout_s: float | None) -> Outcome:
        """Until `wake`, or for `timeout_s`, or until the peer ends its connection."""
        while True:
            watched = [self._bell] if self._sock is None else [self._bell, self._sock.fileno()]
            ready = _readable(watched, timeout_s)
            if self._bell in ready:
                return Outcome.WOKEN
            if not ready:
                return Outcome.TIMED_OUT
            if self._peer_has_gone():
                return Outcome.PEER_GONE
            # A next request, sent ahead, or TLS, which cannot be looked into.
            self._sock = None

    def close(self) -> None:
        """Give the descriptors back."""
        os.close(self._bell)
        if self._rope != self._bell:
            os.close(self._rope)

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
        return select.select(fds, [], [], timeout_s)[0]  # Green, and takes any descriptor.
    poll = select.poll()  # `select` itself stops at descriptor 1,024.
    for fd in fds:
        poll.register(fd, select.POLLIN)
    return [fd for fd, _events in poll.poll(None if timeout_s is None else timeout_s * 1000)]
