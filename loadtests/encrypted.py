"""A user's connection over TLS: to be read and written like a socket, with the kernel's stamp of each read."""

from __future__ import annotations

import functools
import ssl
from typing import Any

from app.core.encryption import Encryption

READ_BYTES = 65_536


@functools.cache
def trust() -> ssl.SSLContext:
    """Whom the system trusts, or the file that `SSL_CERT_FILE` names (`./siar load --ca`). Read once: it takes a while."""
    return ssl.create_default_context()


class EncryptedSocket:
    """As much of a socket as users need. What it raises is `OSError`."""

    def __init__(self, sock: Any, host: str) -> None:
        """`sock` is connected. Comes back when the server has shown who it is."""
        self._sock = sock
        self._encryption = Encryption(host, trust())
        while True:
            self._answer()
            if self._encryption.is_open:
                return
            data = sock.recv(READ_BYTES)
            if not data:
                raise ConnectionError("it closed the connection before TLS was agreed on")
            # A server of HTTP says nothing before it is asked: there is nothing in it yet.
            self._encryption.receive_data(data)

    def recvmsg(self, size: int, ancillary_size: int = 0) -> tuple[bytes, Any, int, Any]:
        """The next bytes that mean something, with the stamp of the read that completed them; none at the end."""
        meant: bytes = b""
        beside: tuple[Any, int, Any] = ([], 0, None)
        while not meant and not self._encryption.ended:
            data, *beside = self._sock.recvmsg(size, ancillary_size)
            if not data:
                break
            meant = self._encryption.receive_data(data)
            self._answer()
        return meant, *beside

    def recv(self, size: int) -> bytes:
        """The same without the stamp."""
        return self.recvmsg(size)[0]

    def sendall(self, data: bytes) -> None:
        """Send."""
        self._sock.sendall(self._encryption.encrypt(data))

    def close(self) -> None:
        """Let it go."""
        self._sock.close()

    def _answer(self) -> None:
        if data := self._encryption.to_send():
            self._sock.sendall(data)
