"""How a trial went second by second, beside its deliveries: CPU, connections, and what clients sent up."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CpuSecond:
    """What was used in one second of the trial's CPU window, read from outside like the whole."""

    second: int
    """0-based, from the window's beginning."""
    wall_s: float
    """Its true length: whoever reads may wake late, and the last one may be shorter."""
    process_s: float | None
    """The server's process tree, by its processes' nanosecond clocks; `None` where the platform has none."""
    kernel_s: float
    """The whole machine in the kernel: system, irq and softirq of all cores, in ticks of 10 ms."""
    busy_s: float
    """The whole machine, user time included, in ticks of 10 ms."""


@dataclass(frozen=True, slots=True)
class Opening:
    """One connection of a client's, from the call to connect; stamps on the client's own clock.

    A client that lost its connection and came back has several.
    """

    client: int
    place: int
    """0 for the first."""
    began_us: float
    connected_us: float | None
    """TCP stands; `None` when it never did."""
    first_byte_us: float | None
    """The first byte of the server's answer was read."""
    ready_us: float | None
    """The server had let the client in: from here on it is sent what is published."""
    lost_us: float | None
    """`None` when it stood until the end."""


@dataclass(frozen=True, slots=True)
class Upload:
    """What a client sent during the trial."""

    client: int
    at_us: float
    """The client's own clock."""
    payload_bytes: int
    """What was handed to TCP, headers of TCP and IP not counted."""


@dataclass(frozen=True, slots=True)
class TrialTimeline:
    """What was recorded of one trial; a part that could not be is empty."""

    cpu_seconds: tuple[CpuSecond, ...] = ()
    openings: tuple[Opening, ...] = ()
    uploads: tuple[Upload, ...] = ()
    uploads_known: bool = True
    """Whether clients said what they sent: phones do not, and then nothing is not 0."""
