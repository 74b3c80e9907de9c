"""What the server saw of a trial's connections: when the kernel took what, and how TCP fared. Values only."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import overload

from app.core.units import ServerUs


@dataclass(frozen=True, slots=True)
class TcpInfo:
    """A connection as the server's kernel counts it (Linux `TCP_INFO`); `None` where an older kernel has no such count.

    Counts run from the connection's beginning.
    """

    at_us: ServerUs
    """When it was read; server time base."""
    rtt_us: int
    """Smoothed round trip (RFC 6298)."""
    rttvar_us: int
    min_rtt_us: int | None
    retransmissions: int
    """Segments."""
    segments_out: int | None
    """Acknowledgements and retransmissions included."""
    segments_in: int | None
    data_segments_out: int | None
    bytes_sent: int | None
    """Payload, retransmissions included."""
    bytes_acked: int | None
    bytes_received: int | None
    delivered: int | None
    """Segments that the peer has acknowledged."""
    header_bytes: int
    """Of each segment, IP and TCP together: by address family, and by whether both ends stamp their segments."""


@dataclass(frozen=True, slots=True, eq=False)
class Writes(Sequence[tuple[int, int]]):
    """`(seq, accepted_us)` of one connection, as two columns: 16 bytes a write in place of 130."""

    seq: array[int]
    accepted_us: array[int]

    @classmethod
    def of(cls, pairs: Iterable[tuple[int, int]]) -> Writes:
        """The same writes; themselves, when they are columns already. Raises `TypeError` for what is no integer."""
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
    """Whose it was, by the address of its socket; `None` for nobody's of the trial."""
    address: str
    port: int
    """Of the peer."""
    accepted: Sequence[tuple[int, int]] = ()
    """`(seq, accepted_us)`: when the server handed the kernel the write that completed the notification, server time
    base. Stamped right before that call, since on loopback the peer has it before the call returns."""
    before: TcpInfo | None = None
    """Before the first notification; `None` when the connection came later."""
    after: TcpInfo | None = None
    """Behind the last; `None` when it had ended by then."""


@dataclass(frozen=True, slots=True)
class InstrumentRecord:
    """What the server recorded of a trial for which that was asked."""

    absent: str | None = None
    """Why there is nothing, as a sentence."""
    dropped: int = 0
    """Writes and connections that found no room in what was set aside for them."""
    connections: tuple[ConnectionRecord, ...] = ()
