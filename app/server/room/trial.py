"""A trial as it is announced to the phones by the runner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

STATE_CONNECT = "connect"
STATE_RUNNING = "running"
STATE_COLLECT = "collect"


@dataclass(frozen=True, slots=True)
class RoomTrial:
    """Everything that a phone needs to take part in a trial."""

    index: int
    block: int
    clients: int
    """Number of participating phones."""
    transport: str
    expected_count: int
    """Notifications of the trial, including the warm-up."""
    warmup_count: int
    rate_hz: float
    drain_ms: int
    topic: str
    factors: dict[str, Any]
    """Other factors of the trial's arm: radio, polling, payload."""
    state: str
    """`connect`: open the transport; `running`: receive; `collect`: post the samples."""
    participants: frozenset[str]
    """Devices that take part."""
    first_due_us: int | None = None
    """Due time of the first notification (server time base); known once the trial runs."""
    ends_us: int | None = None
    """End of waiting: the last due time plus the drain time."""

    def wire(self, *, device: str) -> dict[str, Any]:
        """Return the trial as it is sent to `device`."""
        return {
            **self.public(),
            "take_part": device in self.participants,
            "topic": self.topic,
        }

    def public(self) -> dict[str, Any]:
        """Return the part of the trial that everybody may see."""
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
