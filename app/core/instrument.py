"""Server-side record of a trial's connections: when the kernel accepted each write, and TCP's counters. Values only."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import overload

from app.core.units import ServerUs


@dataclass(frozen=True, slots=True)
class TcpInfo:
    """Counters of a connection in the server's kernel (Linux `TCP_INFO`); `None` where an older kernel has no such counter.

    Counters start at the connection's beginning.
    """

    at_us: ServerUs
    """Moment of reading; server time base."""
    rtt_us: int
    """Smoothed round trip (RFC 6298)."""
    rttvar_us: int
    min_rtt_us: int | None
    retransmissions: int
    """Number of retransmitted segments."""
    segments_out: int | None
    """Number of sent segments, acknowledgements and retransmissions included."""
    segments_in: int | None
    data_segments_out: int | None
    bytes_sent: int | None
    """Payload bytes, retransmissions included."""
    bytes_acked: int | None
    bytes_received: int | None
    delivered: int | None
    """Number of segments that the peer has acknowledged."""
    header_bytes: int
    """Header bytes per segment, IP and TCP together; depends on the address family and on TCP timestamps."""


@dataclass(frozen=True, slots=True, eq=False)
class Writes(Sequence[tuple[int, int]]):
    """Pairs `(seq, accepted_us)` of one connection as two columns: 16 bytes per write instead of 130."""

    seq: array[int]
    accepted_us: array[int]

    @classmethod
    def of(cls, pairs: Iterable[tuple[int, int]]) -> Writes:
        """Convert pairs to columns; columns are returned unchanged. Raises `TypeError` for a value that is no integer."""
        if isinstance(pairs, Writes):
            return pairs
        seqs, times_us = zip(*pairs, strict=True) if (pairs := list(pairs)) else ((), ())
        return cls(array("q", seqs), array("q", times_us))

    def __len__(self) -> int:
        return len(self.seq)

    @overload
    def __getitem__(self, place: int) -> tuple[int, int]: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[tuple[int, int], ...]: ...
    def __getitem__(self, place: int | slice) -> tuple[int, int] | tuple[tuple[int, int], ...]:
        if isinstance(place, slice):
            return tuple(zip(self.seq[place], self.accepted_us[place], strict=True))
        return self.seq[place], self.accepted_us[place]

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Writes | tuple) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class ConnectionRecord:
    """One connection of the trial's transport."""

    client: int | None
    """The client, identified by its socket's address; `None` if it is no client of the trial."""
    address: str
    port: int
    """Port of the peer."""
    accepted: Sequence[tuple[int, int]] = ()
    """Pairs `(seq, accepted_us)`: moment of the write that completed the notification, server time base. It is stamped
    right before the call, because on loopback the peer has the data before the call returns."""
    before: TcpInfo | None = None
    """Counters before the first notification; `None` if the connection was opened later."""
    after: TcpInfo | None = None
    """Counters after the last notification; `None` if the connection had ended by then."""


@dataclass(frozen=True, slots=True)
class InstrumentRecord:
    """Record of a trial for which the instrument was enabled."""

    absent: str | None = None
    """Sentence that says why nothing was recorded; `None` if something was."""
    dropped: int = 0
    """Number of writes and connections that did not fit into the preallocated buffers."""
    connections: tuple[ConnectionRecord, ...] = ()
