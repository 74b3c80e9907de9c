"""A TCP proxy that changes a server's data: pieces are omitted or repeated, or the connection is cut after one."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterable

from app.tools.calibrate.socket_registry import SocketRegistry, shut_down

CUT = None
"""Placed among the pieces for a client, it closes the client's connection."""

Tamper = Callable[[bytes], Iterable[bytes | None]]
"""Returns what a client gets instead of a piece from the server. A piece is a read: on loopback one or more writes."""


class TamperingProxy:
    """Proxy on a free port of loopback. Use it as a context manager; it listens until the end of the block."""

    def __init__(self, port: int, tamper: Tamper = lambda piece: [piece]) -> None:
        """`port`: the server's, which may start later. `tamper` is called for one piece at a time."""
        self._target = ("127.0.0.1", port)
        self._tamper = tamper
        self._lock = threading.Lock()
        self._is_open = threading.Event()
        self._is_open.set()
        self._sockets = SocketRegistry()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> TamperingProxy:
        return self

    def __exit__(self, *_error: object) -> None:
        self._is_open.set()
        shut_down(self._listener)
        self._listener.close()
        self._sockets.close()

    def shut(self) -> None:
        """Break every open connection; new ones wait until `open`."""
        self._is_open.clear()
        self._sockets.shut_down_all()

    def open(self) -> None:
        """Let all connections through again."""
        self._is_open.set()

    def _accept(self) -> None:
        while client := self._sockets.accept(self._listener):
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        self._is_open.wait()
        server = self._sockets.connect(self._target)
        if server is None:
            shut_down(client)
            return
        if not self._is_open.is_set():
            shut_down(client)
        for each in (client, server):
            with contextlib.suppress(OSError):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=_copy, args=(client, server, _as_it_is), daemon=True).start()
        _copy(server, client, self._tampered)

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
                    shut_down(source)
                    shut_down(target)
                    return
                target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
