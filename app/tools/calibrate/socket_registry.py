"""The open sockets of a proxy: all are closed at its end, including one that is opened meanwhile."""

from __future__ import annotations

import contextlib
import socket
import threading


class SocketRegistry:
    """Thread-safe set of open sockets. The accepting thread may be at any point when the proxy ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._is_closed = False

    def add(self, sock: socket.socket) -> bool:
        """Add a socket, to be closed at the end. If that has passed, close it now and return False."""
        with self._lock:
            if not self._is_closed:
                self._sockets.append(sock)
                return True
        sock.close()
        return False

    def accept(self, listener: socket.socket) -> socket.socket | None:
        """Accept the next connection and add it; return None after the end."""
        try:
            client, _ = listener.accept()
        except OSError:
            return None
        return client if self.add(client) else None

    def connect(self, target: tuple[str, int]) -> socket.socket | None:
        """Connect to `target` and add the socket; return None if nobody listens, or after the end."""
        try:
            server = socket.create_connection(target)
        except OSError:
            return None
        return server if self.add(server) else None

    def shut_down_all(self) -> None:
        """Shut down all current sockets; they are closed at the end as usual."""
        with self._lock:
            for each in self._sockets:
                shut_down(each)

    def close(self) -> None:
        """Close all sockets. A socket that is added later is closed at once."""
        with self._lock:
            self._is_closed = True
        for each in self._sockets:
            shut_down(each)
            each.close()


def shut_down(sock: socket.socket) -> None:
    """Shut a socket down in both directions, so that a thread that waits for it wakes up."""
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
