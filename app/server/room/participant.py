"""One phone in the room and the state that it reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

AWAY_AFTER_US = 15_000_000
"""Silence after which a phone is asleep or gone; outside of trials phones poll at least each second."""

CHECKS = ("sse", "socketio", "clock")

_REPORTED = (
    "ready", "visible", "awake", "connected", "clock_bound_ms", "rtt_ms", "jitter_ms", "trial_ready", "trial_done",
)  # fmt: skip
"""Fields that a report sets unchanged."""


@dataclass(slots=True)
class Participant:
    """A registered device with a seat. Only the room changes it, under its lock."""

    device: str
    seat: int
    """Number from 1, unique and constant during a run."""
    name: str
    model: str | None
    last_seen_us: int
    """Time of the last request (server time base)."""
    checks: dict[str, str] = field(default_factory=lambda: dict.fromkeys(CHECKS, "waiting"))
    """State of each check before readiness: `ok`, `failed` or `waiting`."""
    ready: bool = False
    visible: bool = True
    awake: bool = False
    """True if the phone holds a wake lock."""
    connected: bool = False
    """True if the phone is connected to the trial's transport."""
    clock_bound_ms: float | None = None
    rtt_ms: float | None = None
    jitter_ms: float | None = None
    trial_ready: int | None = None
    """Index of the trial for which the phone is connected."""
    trial_done: int | None = None
    """Index of the trial whose samples the phone has posted."""
    disconnects: int = 0
    """Number of times that the phone reported losing a trial's transport."""
    taking_part: bool = False
    """True if the phone was ready when the experiment began."""
    removed: bool = False
    """True if the operator removed the phone; it stays out until the next experiment."""
    left: bool = False
    """True if the phone left by itself; it may return to its seat."""

    @property
    def is_present(self) -> bool:
        """Return whether the phone still belongs to the room, even if it is away."""
        return not self.removed and not self.left

    def is_away(self, now_us: int, *, quiet_until_us: int) -> bool:
        """Return whether the phone has been silent for too long; until `quiet_until_us` silence is expected."""
        return now_us - max(self.last_seen_us, quiet_until_us) > AWAY_AFTER_US

    def apply(self, report: Mapping[str, Any]) -> bool:
        """Apply a report; return whether others can see a difference. Changes of measured figures do not count."""
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

    def reset(self, *, seat: int) -> None:
        """Keep the participant for another experiment, with its name but not ready."""
        self.seat = seat
        self.ready = self.connected = self.taking_part = False
        self.trial_ready = self.trial_done = None
        self.disconnects = 0
