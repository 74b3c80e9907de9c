"""Timeline of a trial in addition to its deliveries: CPU per second, connections, and clients' uploads."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CpuSecond:
    """CPU use in one second of the trial's CPU window, read from outside of the server."""

    second: int
    """0-based number, from the window's beginning."""
    wall_s: float
    """True length: the reader may wake late, and the last second may be shorter."""
    process_s: float | None
    """CPU time of the server's process tree, from nanosecond clocks; `None` on platforms without them."""
    kernel_s: float
    """CPU time of the whole machine in the kernel: system, irq and softirq of all cores, in ticks of 10 ms."""
    busy_s: float
    """CPU time of the whole machine, user time included, in ticks of 10 ms."""


@dataclass(frozen=True, slots=True)
class Opening:
    """One connection of a client, from the call to connect; stamps are on the client's own clock.

    A client that lost its connection and reconnected has several.
    """

    client: int
    place: int
    """0-based number among the client's connections."""
    began_us: float
    connected_us: float | None
    """Moment at which TCP was connected; `None` if it never was."""
    first_byte_us: float | None
    """Moment at which the first byte of the server's answer was read."""
    ready_us: float | None
    """Moment at which the server had accepted the client, which receives what is published from then on."""
    lost_us: float | None
    """Moment at which the connection broke; `None` if it lasted until the end."""


@dataclass(frozen=True, slots=True)
class Upload:
    """One write of a client during the trial."""

    client: int
    at_us: float
    """Moment on the client's own clock."""
    payload_bytes: int
    """Bytes written to TCP, without TCP and IP headers."""


@dataclass(frozen=True, slots=True)
class TrialTimeline:
    """Timeline of one trial; a part that could not be recorded is empty."""

    cpu_seconds: tuple[CpuSecond, ...] = ()
    openings: tuple[Opening, ...] = ()
    uploads: tuple[Upload, ...] = ()
    uploads_known: bool = True
    """True if the clients reported their uploads. Phones do not, and then no upload does not mean 0 bytes."""
