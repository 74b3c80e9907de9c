"""A TCP proxy that holds back requests for one path until they are released; everything else passes."""

from __future__ import annotations

import contextlib
import socket
import threading

from app.tools.calibrate.socket_registry import SocketRegistry, shut_down


class HoldingProxy:
    """Proxy on a free port of loopback. Use it as a context manager; it listens until the end of the block."""

    def __init__(self, host: str, port: int, *, path: str) -> None:
        """`path`: as in the request's first line; each request must arrive in a read of its own."""
        self._target = (host, port)
        self._line = f" {path}".encode()
        self._may_pass = threading.Event()
        self._may_pass.set()
        self._sockets = SocketRegistry()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> HoldingProxy:
        return self

    def __exit__(self, *_error: object) -> None:
        self.release()
        shut_down(self._listener)
        self._listener.close()
        self._sockets.close()

    def hold(self) -> None:
        """Hold back requests for the path."""
        self._may_pass.clear()

    def release(self) -> None:
        """Release held requests, and let further ones pass."""
        self._may_pass.set()

    def _accept(self) -> None:
        while client := self._sockets.accept(self._listener):
            server = self._sockets.connect(self._target)
            if server is None:
                return
            for source, target, is_request in ((client, server, True), (server, client, False)):
                threading.Thread(target=self._copy, args=(source, target, is_request), daemon=True).start()

    def _copy(self, source: socket.socket, target: socket.socket, is_request: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                if is_request and self._line in data.partition(b"\r\n")[0]:
                    self._may_pass.wait()
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
