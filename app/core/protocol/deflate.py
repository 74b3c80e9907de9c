"""DEFLATE in independent pieces (RFC 1951), so that a notification is compressed once for all connections.

Each piece is compressed without earlier data and ends on a byte boundary with an empty block ("sync flush"). Therefore
pieces can follow each other in any connection's stream:

    SSE        gzip's head (RFC 1952), then piece after piece          `Content-Encoding: gzip`
    WebSocket  a piece without its last four bytes is one message      permessage-deflate, "no context takeover" (RFC 7692)

A compressor per connection could refer to earlier data, but would compress each notification once per connection and
need 256 kB of memory each.
"""

from __future__ import annotations

import re
import zlib

from app.core.errors import MalformedFrame

PLAIN = "plain"
DEFLATED = "deflated"
"""Compression of a connection's bytes. The name of a compressed encoding of the fan-out ends with the latter."""

GZIP_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
"""gzip's head without name and time, for an unknown system. The trailer (checksum, length) is never sent: streams are
endless."""

EMPTY_BLOCK = b"\x00\x00\xff\xff"
"""Last bytes of a piece. RFC 7692, section 7.2.1: "Remove 4 octets (that are 0x00 0x00 0xff 0xff) from the tail end"."""

NO_CONTEXT_TAKEOVER = "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
"""Answer to an offer: both sides reset their compressor with each message, so that a connection keeps no state."""

_PARAMETER = re.compile(
    r'(server|client)_no_context_takeover|client_max_window_bits(\s*=\s*"?([89]|1[0-5])"?)?', re.ASCII
)
"""Parameters that an offer may have. Our answer does not limit the client's window, which the client may reduce itself."""

COMPRESSED_BYTES_MAX = 16_384
"""Size limit of a client's message after inflation, since a hundred bytes can inflate to a thousand times as many."""


def deflated(data: bytes) -> bytes:
    """Compress `data` to one piece."""
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush(zlib.Z_SYNC_FLUSH)


def stored(data: bytes) -> bytes:
    """Encode `data` as one piece of stored blocks: for bytes to a single client, which are not worth compressing."""
    compressor = zlib.compressobj(level=0, wbits=-zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush(zlib.Z_SYNC_FLUSH)


def deflated_message(payload: bytes) -> bytes:
    """Return the payload of a compressed WebSocket message."""
    return deflated(payload).removesuffix(EMPTY_BLOCK)


def inflated_message(payload: bytes, *, bytes_max: int) -> bytes:
    """Inflate a compressed message. Raises `MalformedFrame` if it is no DEFLATE, or longer than `bytes_max`."""
    # At most one byte beyond the limit is inflated, whatever a peer has sent.
    unpacker = zlib.decompressobj(wbits=-zlib.MAX_WBITS)
    try:
        data = unpacker.decompress(payload + EMPTY_BLOCK, bytes_max + 1)
    except zlib.error as error:
        raise MalformedFrame("A compressed message cannot be unpacked.") from error
    if len(data) > bytes_max:
        raise MalformedFrame(f"A message is longer than {bytes_max} bytes.", close_code=1009)
    return data


def is_offered(extensions: str) -> bool:
    """Return True if a client's `Sec-WebSocket-Extensions` has an offer that `NO_CONTEXT_TAKEOVER` answers.

    An offer with `server_max_window_bits` requests a smaller window than ours; one with an unknown parameter must be
    declined (RFC 7692, sections 5.1 and 7.1).
    """
    return any(map(is_answered, extensions.split(",")))


def is_answered(offer: str) -> bool:
    """Return True if `NO_CONTEXT_TAKEOVER` answers one offer."""
    name, *parameters = (part.strip() for part in offer.split(";"))
    names = [each.partition("=")[0].strip() for each in parameters]
    return (
        name == "permessage-deflate"
        and len(set(names)) == len(names)
        and all(_PARAMETER.fullmatch(each) for each in parameters)
    )
