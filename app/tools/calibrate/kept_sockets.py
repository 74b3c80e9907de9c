"""The sockets of a proxy: each is closed at the end, also one that comes only then."""

from __future__ import annotations

import contextlib
import socket
import threading


class KeptSockets:
    """Threads add to it. The one that accepts may be anywhere when the proxy is to end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._is_over = False

    def keep(self, sock: socket.socket) -> bool:
        """To be closed at the end; at once, and False, where that is over."""
        with self._lock:
            if not self._is_over:
                self._sockets.append(sock)
                return True
        sock.close()
        return False

    def accepted(self, listener: socket.socket) -> socket.socket | None:
        """The next connection, kept; None when the end has come."""
        try:
            client, _ = listener.accept()
        except OSError:
            return None
        return client if self.keep(client) else None

    def connected(self, target: tuple[str, int]) -> socket.socket | None:
        """A connection to `target`, kept; None when nobody is there or the end has come."""
        try:
            server = socket.create_connection(target)
        except OSError:
            return None
        return server if self.keep(server) else None

    def break_all(self) -> None:
        """Those that are kept now; they are closed at the end still."""
        with self._lock:
            for each in self._sockets:
                break_(each)

    def close(self) -> None:
        """The end: nothing is kept behind it."""
        with self._lock:
            self._is_over = True
        for each in self._sockets:
            break_(each)
            each.close()


def break_(sock: socket.socket) -> None:
    """In both directions, so that whoever waits for it wakes."""
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
