"""A trial as the phones are told of it; the runner says so, and nobody else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

STATE_CONNECT = "connect"
STATE_RUNNING = "running"
STATE_COLLECT = "collect"


@dataclass(frozen=True, slots=True)
class RoomTrial:
    """What a phone needs to take part in a trial."""

    index: int
    block: int
    clients: int
    """How many phones take part."""
    transport: str
    expected_count: int
    """Notifications of the trial, warm-up included."""
    warmup_count: int
    rate_hz: float
    drain_ms: int
    topic: str
    factors: dict[str, Any]
    """What else the arm is about: radio, polling, payload."""
    state: str
    """`connect`: open the transport; `running`: receive; `collect`: post what was measured."""
    participants: frozenset[str]
    """Devices that take part."""
    first_due_us: int | None = None
    """Server time base; known when it runs."""
    ends_us: int | None = None
    """When nothing more is waited for: the last due time plus the drain time."""

    def wire(self, *, device: str) -> dict[str, Any]:
        """What `device` is told."""
        return {
            **self.public(),
            "take_part": device in self.participants,
            "topic": self.topic,
        }

    def public(self) -> dict[str, Any]:
        """What everybody may see of it."""
        return {
            "index": self.index,
            "block": self.block,
            "clients": self.clients,
            "transport": self.transport,
            "expected_count": self.expected_count,
            "warmup_count": self.warmup_count,
            "rate_hz": self.rate_hz,
            "drain_ms": self.drain_ms,
            "factors": self.factors,
            "state": self.state,
            "first_due_us": self.first_due_us,
            "ends_us": self.ends_us,
        }
