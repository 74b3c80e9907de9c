"""Recording of arrivals in columns, without an object per arrival."""

from __future__ import annotations

import base64
from array import array
from dataclasses import dataclass, field

REPLAYED = 1
SHARED = 2
"""Bits of `flags`. Shared: one read returned several messages, so the kernel's stamp does not belong to this one alone."""


def _column(kind: str) -> array[int]:
    return array(kind)


@dataclass(slots=True)
class Recording:
    """Arrivals of one trial in this process, in the order in which they were read."""

    client: array[int] = field(default_factory=lambda: _column("I"))
    seq: array[int] = field(default_factory=lambda: _column("I"))
    offset: array[int] = field(default_factory=lambda: _column("q"))
    read_ns: array[int] = field(default_factory=lambda: _column("q"))
    """Stamp on CLOCK_MONOTONIC, right after the read."""
    kernel_ns: array[int] = field(default_factory=lambda: _column("q"))
    """The kernel's receive stamp on the same clock; 0 without one."""
    flags: array[int] = field(default_factory=lambda: _column("B"))

    def add(self, client: int, seq: int, offset: int, read_ns: int, kernel_ns: int, flags: int) -> None:
        """Append one arrival."""
        self.client.append(client)
        self.seq.append(seq)
        self.offset.append(offset)
        self.read_ns.append(read_ns)
        self.kernel_ns.append(kernel_ns)
        self.flags.append(flags)

    def columns(self) -> dict[str, str]:
        """Encode the columns by name, in base64 and the machine's byte order, for a process on the same machine."""
        return {
            name: base64.b64encode(getattr(self, name).tobytes()).decode()
            for name in ("client", "seq", "offset", "read_ns", "kernel_ns", "flags")
        }
