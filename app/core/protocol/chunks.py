"""The chunked transfer coding, as a server writes it (RFC 9112, section 7.1)."""

from __future__ import annotations

LAST_CHUNK = b"0\r\n\r\n"
"""Ends a whole body. A body without it was torn: "the message is considered incomplete" (section 8)."""


def chunk(data: bytes) -> bytes:
    """`data` as one chunk, never the last one."""
    assert data, "an empty chunk would end the body"
    return b"%x\r\n%b\r\n" % (len(data), data)
