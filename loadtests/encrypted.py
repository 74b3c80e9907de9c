"""TLS connection of a user with the interface of a socket, which keeps the kernel's receive stamp of each read."""

from __future__ import annotations

import functools
import ssl
from typing import Any

from app.core.encryption import Encryption

READ_BYTES = 65_536


@functools.cache
def tls_context() -> ssl.SSLContext:
    """Return the context with the system's trust store, or with `SSL_CERT_FILE` (`./siar load --ca`).

    It is cached, because loading it is slow.
    """
    return ssl.create_default_context()


class EncryptedSocket:
    """The part of a socket's interface that users need. Methods raise `OSError`."""

    def __init__(self, sock: Any, host: str) -> None:
        """Run the handshake on the connected `sock` until the server's certificate is verified."""
        self._sock = sock
        self._encryption = Encryption(host, tls_context())
        while True:
            self._flush()
            if self._encryption.is_open:
                return
            data = sock.recv(READ_BYTES)
            if not data:
                raise ConnectionError("it closed the connection before TLS was agreed on")
            # The result is empty: an HTTP server sends nothing before a request.
            self._encryption.receive_data(data)

    def recvmsg(self, size: int, ancillary_size: int = 0) -> tuple[bytes, Any, int, Any]:
        """Return the next decrypted bytes with the stamp of the read that completed them; no bytes at the end."""
        decrypted: bytes = b""
        metadata: tuple[Any, int, Any] = ([], 0, None)
        while not decrypted and not self._encryption.ended:
            data, *metadata = self._sock.recvmsg(size, ancillary_size)
            if not data:
                break
            decrypted = self._encryption.receive_data(data)
            self._flush()
        return decrypted, *metadata

    def recv(self, size: int) -> bytes:
        """Return the next decrypted bytes; no bytes at the end."""
        return self.recvmsg(size)[0]

    def sendall(self, data: bytes) -> None:
        """Encrypt and send all of `data`."""
        self._sock.sendall(self._encryption.encrypt(data))

    def close(self) -> None:
        """Close the socket."""
        self._sock.close()

    def _flush(self) -> None:
        if data := self._encryption.to_send():
            self._sock.sendall(data)
