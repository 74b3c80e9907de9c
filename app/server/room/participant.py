"""One phone in the room, and what it says about itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

AWAY_AFTER_US = 15_000_000
"""Phones ask at least each second outside of trials; one that was silent that long sleeps or has left."""

CHECKS = ("sse", "socketio", "clock")

_REPORTED = (
    "ready", "visible", "awake", "connected", "clock_bound_ms", "rtt_ms", "jitter_ms", "trial_ready", "trial_done",
)  # fmt: skip
"""What a report may set as it is."""


@dataclass(slots=True)
class Participant:
    """A registered device with a seat. Changed only by the room, under its lock."""

    device: str
    seat: int
    """1-based, and its own for as long as the run lasts."""
    name: str
    model: str | None
    last_seen_us: int
    """When its last request came (server time base)."""
    checks: dict[str, str] = field(default_factory=lambda: dict.fromkeys(CHECKS, "waiting"))
    """`ok`, `failed` or `waiting` for each check that a phone makes before it is ready."""
    ready: bool = False
    visible: bool = True
    awake: bool = False
    """Whether it holds a wake lock."""
    connected: bool = False
    """To the transport of the trial."""
    clock_bound_ms: float | None = None
    rtt_ms: float | None = None
    jitter_ms: float | None = None
    trial_ready: int | None = None
    """Index of the trial for which it is connected."""
    trial_done: int | None = None
    """Index of the trial whose samples it has posted."""
    disconnects: int = 0
    """How often it said that it lost the transport of a trial."""
    taking_part: bool = False
    """Whether it was ready when the experiment began."""
    removed: bool = False
    """The operator sent it away: it stays out until the next experiment."""
    left: bool = False
    """It went by itself and may come back to its seat."""

    @property
    def is_here(self) -> bool:
        """Whether it belongs to the room still, away or not."""
        return not self.removed and not self.left

    def is_away(self, now_us: int, *, quiet_until_us: int) -> bool:
        """Whether it was not heard of for too long; until `quiet_until_us` phones were to be silent."""
        return now_us - max(self.last_seen_us, quiet_until_us) > AWAY_AFTER_US

    def take(self, report: Mapping[str, Any]) -> bool:
        """Take in what it says; whether others see a difference. Figures that change all the time are none."""
        before = (self.ready, self.visible, self.awake, self.connected, self.trial_ready, self.trial_done)
        checks_before = dict(self.checks)
        if self.connected and report.get("connected") is False:
            self.disconnects += 1
        for name in _REPORTED:
            if report.get(name) is not None:
                setattr(self, name, report[name])
        self.checks.update(report.get("checks") or {})
        after = (self.ready, self.visible, self.awake, self.connected, self.trial_ready, self.trial_done)
        return after != before or self.checks != checks_before

    def begin_anew(self, *, seat: int) -> None:
        """Stay for another experiment: same name, and ready only when it says so again."""
        self.seat = seat
        self.ready = self.connected = self.taking_part = False
        self.trial_ready = self.trial_done = None
        self.disconnects = 0
