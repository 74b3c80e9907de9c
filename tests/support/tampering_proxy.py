"""A TCP proxy that changes what a server says: pieces left out, said twice, or broken off behind one of them."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterable

CUT = None
"""Among the pieces that go to a client: its connection ends here."""

Tamper = Callable[[bytes], Iterable[bytes | None]]
"""What a client gets in place of a piece from the server. A piece is a read: on loopback a whole write, or several."""


class TamperingProxy:
    """Listens on a free port of loopback until it is closed. Use as a context manager."""

    def __init__(self, port: int, tamper: Tamper = lambda piece: [piece]) -> None:
        """`port`: where the server is, or will be. `tamper` is called for one piece at a time."""
        self._target = ("127.0.0.1", port)
        self._tamper = tamper
        self._lock = threading.Lock()
        self._is_open = threading.Event()
        self._is_open.set()
        self._is_over = False
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> TamperingProxy:
        return self

    def __exit__(self, *_error: object) -> None:
        with self._lock:
            self._is_over = True
            sockets = [self._listener, *self._sockets]
        self._is_open.set()
        for each in sockets:
            _break(each)
            each.close()

    def shut(self) -> None:
        """Break every connection that stands; new ones wait until `open`."""
        self._is_open.clear()
        with self._lock:
            for each in self._sockets:
                _break(each)

    def open(self) -> None:
        """Let everybody through again."""
        self._is_open.set()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if not self._keep(client):
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        self._is_open.wait()
        try:
            server = socket.create_connection(self._target)
        except OSError:
            _break(client)
            return
        if not self._keep(server):
            return
        with self._lock:
            if not self._is_open.is_set():
                _break(client)
        for each in (client, server):
            with contextlib.suppress(OSError):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=_copy, args=(client, server, _as_it_is), daemon=True).start()
        _copy(server, client, self._tampered)

    def _keep(self, sock: socket.socket) -> bool:
        """To be closed at the end; at once where that is over."""
        with self._lock:
            if not self._is_over:
                self._sockets.append(sock)
                return True
        sock.close()
        return False

    def _tampered(self, piece: bytes) -> list[bytes | None]:
        with self._lock:
            return list(self._tamper(piece))


def _as_it_is(piece: bytes) -> list[bytes | None]:
    return [piece]


def _copy(source: socket.socket, target: socket.socket, change: Tamper) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            for piece in change(data):
                if piece is CUT:
                    _break(source)
                    _break(target)
                    return
                target.sendall(piece)
        target.shutdown(socket.SHUT_WR)


def _break(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
