"""Linux's statistics of a TCP connection: `getsockopt(IPPROTO_TCP, TCP_INFO)`, parsed by field offsets.

`struct tcp_info` (linux/tcp.h) only ever grows at its end, so an older kernel returns fewer fields.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from app.core.instrument import TcpInfo
from app.core.units import ServerUs

if TYPE_CHECKING:
    from app.server.wsgi.takeover import RawSocket

IPPROTO_TCP = 6
TCP_INFO = 11
"""Python's `socket` has it only where it was built with it; the number is part of Linux's stable ABI."""

READ_BYTES = 512
"""More than any kernel returns (280 in version 6.18)."""

_OPTIONS = 5
_STAMPS_AGREED = 0x01
"""TCPI_OPT_TIMESTAMPS."""

_U32 = struct.Struct("=I")
_U64 = struct.Struct("=Q")

_RTT, _RTTVAR, _TOTAL_RETRANS = 68, 72, 100
_BYTES_ACKED, _BYTES_RECEIVED = 120, 128
_SEGS_OUT, _SEGS_IN, _MIN_RTT, _DATA_SEGS_OUT = 136, 140, 148, 156
_DELIVERED, _BYTES_SENT = 192, 200

LEAST_BYTES = _TOTAL_RETRANS + _U32.size

TCP_HEADER_BYTES = 20
STAMPS_BYTES = 12
"""The option of RFC 7323 with its padding."""
IPV4_HEADER_BYTES = 20
IPV6_HEADER_BYTES = 40

_MIN_RTT_UNKNOWN = 0xFFFF_FFFF


def read_raw(sock: RawSocket) -> bytes | None:
    """Return the kernel's bytes for `parse`; `None` where there are none (no TCP, no Linux, closed)."""
    try:
        raw = sock.getsockopt(IPPROTO_TCP, TCP_INFO, READ_BYTES)
    except (OSError, ValueError):
        return None
    return raw if len(raw) >= LEAST_BYTES else None


def parse(raw: bytes, *, at_us: ServerUs, is_ipv6: bool) -> TcpInfo:
    """Parse the bytes from `read_raw`."""
    min_rtt_us = _at(_U32, raw, _MIN_RTT)
    stamps = STAMPS_BYTES if raw[_OPTIONS] & _STAMPS_AGREED else 0
    return TcpInfo(
        at_us=at_us,
        rtt_us=_U32.unpack_from(raw, _RTT)[0],
        rttvar_us=_U32.unpack_from(raw, _RTTVAR)[0],
        min_rtt_us=None if min_rtt_us == _MIN_RTT_UNKNOWN else min_rtt_us,
        retransmissions=_U32.unpack_from(raw, _TOTAL_RETRANS)[0],
        segments_out=_at(_U32, raw, _SEGS_OUT),
        segments_in=_at(_U32, raw, _SEGS_IN),
        data_segments_out=_at(_U32, raw, _DATA_SEGS_OUT),
        bytes_sent=_at(_U64, raw, _BYTES_SENT),
        bytes_acked=_at(_U64, raw, _BYTES_ACKED),
        bytes_received=_at(_U64, raw, _BYTES_RECEIVED),
        delivered=_at(_U32, raw, _DELIVERED),
        header_bytes=(IPV6_HEADER_BYTES if is_ipv6 else IPV4_HEADER_BYTES) + TCP_HEADER_BYTES + stamps,
    )


def _at(number: struct.Struct, raw: bytes, place: int) -> int | None:
    """Return the number at offset `place`; `None` where the kernel returned fewer bytes."""
    return int(number.unpack_from(raw, place)[0]) if len(raw) >= place + number.size else None
