"""DEFLATE in pieces that stand alone (RFC 1951), so that a compressed notification is one byte string for everyone.

Each piece is compressed without what came before it and ends on a byte, with an empty block ("sync flush"). So pieces can
follow each other in any stream of any connection:

    SSE        gzip's head (RFC 1952), then piece after piece          `Content-Encoding: gzip`
    WebSocket  a piece without its last four bytes is one message      permessage-deflate, "no context takeover" (RFC 7692)

A compressor for each connection would know what it sent before, at the price of compressing for each of them again and of
256 kB of memory.
"""

from __future__ import annotations

import re
import zlib

from app.core.errors import MalformedFrame

PLAIN = "plain"
DEFLATED = "deflated"
"""What is done with a connection's bytes. A fan-out's form whose bytes are compressed has the latter at its end."""

GZIP_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
"""No name, no time, an unknown system. What would come at the end, length and checksum, a stream without end never sends."""

EMPTY_BLOCK = b"\x00\x00\xff\xff"
"""What a piece ends with. RFC 7692, section 7.2.1: "Remove 4 octets (that are 0x00 0x00 0xff 0xff) from the tail end"."""

NO_CONTEXT_TAKEOVER = "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
"""The answer to an offer: both sides begin anew with each message, so that a connection keeps nothing."""

_PARAMETER = re.compile(
    r'(server|client)_no_context_takeover|client_max_window_bits(\s*=\s*"?([89]|1[0-5])"?)?', re.ASCII
)
"""What an offer may say. Our answer leaves the client its window, which it may make smaller by itself."""

COMPRESSED_BYTES_MAX = 16_384
"""What a client's compressed message may unpack to: a hundred bytes can say a thousand times as much."""


def deflated(data: bytes) -> bytes:
    """One piece."""
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush(zlib.Z_SYNC_FLUSH)


def stored(data: bytes) -> bytes:
    """The same without compressing: for bytes that one client gets, which are not worth everyone's time."""
    compressor = zlib.compressobj(level=0, wbits=-zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush(zlib.Z_SYNC_FLUSH)


def deflated_message(payload: bytes) -> bytes:
    """The payload of a compressed message."""
    return deflated(payload).removesuffix(EMPTY_BLOCK)


def inflated_message(payload: bytes, *, bytes_max: int) -> bytes:
    """What a compressed message says. Raises `MalformedFrame` for what is no DEFLATE, or longer than `bytes_max`."""
    # Never more than the bound is unpacked, whatever a peer has packed.
    unpacker = zlib.decompressobj(wbits=-zlib.MAX_WBITS)
    try:
        data = unpacker.decompress(payload + EMPTY_BLOCK, bytes_max + 1)
    except zlib.error as error:
        raise MalformedFrame("A compressed message cannot be unpacked.") from error
    if len(data) > bytes_max:
        raise MalformedFrame(f"A message is longer than {bytes_max} bytes.", close_code=1009)
    return data


def is_offered(extensions: str) -> bool:
    """Whether a client's `Sec-WebSocket-Extensions` holds an offer that `NO_CONTEXT_TAKEOVER` answers.

    An offer with `server_max_window_bits` asks for a smaller window than ours, and one with a parameter that nobody
    knows must be declined (RFC 7692, sections 5.1 and 7.1).
    """
    return any(map(is_answered, extensions.split(",")))


def is_answered(offer: str) -> bool:
    """Whether `NO_CONTEXT_TAKEOVER` answers one offer."""
    name, *parameters = (part.strip() for part in offer.split(";"))
    names = [each.partition("=")[0].strip() for each in parameters]
    return (
        name == "permessage-deflate"
        and len(set(names)) == len(names)
        and all(_PARAMETER.fullmatch(each) for each in parameters)
    )
