"""TLS for a client, over bytes that somebody else carries: the socket, its reads and their stamps stay the caller's.

    to_send() -> bytes out       bytes in -> hear() -> what they meant       say(data) -> bytes out

The kernel stamps what it received, which is encrypted, and `ssl.SSLSocket` reads without asking for the stamp. Here the
caller reads, keeps the stamp, and hands the bytes on.
"""

from __future__ import annotations

import ssl

READ_BYTES = 65_536


class Encryption:
    """One connection's TLS. Its methods raise `ssl.SSLError`, a kind of `OSError`, when the peer is not who it should be."""

    def __init__(self, host: str, trust: ssl.SSLContext) -> None:
        """`host`: the name or address that the certificate must stand for."""
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = trust.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        self.is_open = False
        """Whether the handshake is over: only then may something be said."""
        self.ended = False
        """Whether the peer said that nothing more will come."""
        self._shake_hands()

    def to_send(self) -> bytes:
        """What the peer must get next; may be empty."""
        return self._outgoing.read()

    def say(self, data: bytes) -> bytes:
        """`data` as it goes over the line."""
        self._tls.write(data)
        return self.to_send()

    def receive_data(self, data: bytes) -> bytes:
        """What came over the line, decrypted; empty while nothing is whole. Look into `to_send` afterwards."""
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
