"""TLS for a client without a socket: the caller reads and writes the encrypted bytes, and keeps their stamps.

    to_send() -> bytes out       bytes in -> receive_data() -> decrypted bytes       encrypt(data) -> bytes out

The kernel stamps the encrypted bytes that it receives, but `ssl.SSLSocket` does not request the stamps when it reads.
Here the caller reads, keeps the stamp, and passes the bytes on.
"""

from __future__ import annotations

import ssl

READ_BYTES = 65_536


class Encryption:
    """TLS state of one connection. Methods raise `ssl.SSLError`, an `OSError`, if the peer's certificate is not accepted."""

    def __init__(self, host: str, context: ssl.SSLContext) -> None:
        """`host`: the name or address that the certificate must be valid for."""
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        self.is_open = False
        """True once the handshake is complete; `encrypt` may be called only then."""
        self.ended = False
        """True if the peer announced the end of the stream."""
        self._shake_hands()

    def to_send(self) -> bytes:
        """Return the bytes to send to the peer next; may be empty."""
        return self._outgoing.read()

    def encrypt(self, data: bytes) -> bytes:
        """Encrypt `data` and return the bytes to send."""
        self._tls.write(data)
        return self.to_send()

    def receive_data(self, data: bytes) -> bytes:
        """Decrypt received bytes; empty until a record is complete. The caller then sends what `to_send` returns."""
        self._incoming.write(data)
        if not self.is_open:
            self._shake_hands()
        return self._read() if self.is_open else b""

    def _read(self) -> bytes:
        parts = []
        try:
            while part := self._tls.read(READ_BYTES):
                parts.append(part)
            self.ended = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.ended = True
        return b"".join(parts)

    def _shake_hands(self) -> None:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return
        self.is_open = True
