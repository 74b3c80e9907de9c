"""How a phone behaved in one trial, by its own account: what decides whether the trial may count."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LifecycleReport:
    """One participant of one trial. Times are milliseconds of the trial; 0 is how it should be."""

    client: int
    """0-based: the participant's seat in the run, minus 1."""
    disconnects: int = 0
    """How often the transport under test broke."""
    hidden_ms: float = 0.0
    frozen_ms: float = 0.0
    suspended_ms: float = 0.0
    """How long the whole device slept: its monotonic clock stood while the wall clock went on."""
    clock_steps: int = 0
    """Breaks of its clock that the probes revealed."""
    expected_count: int = 0
    """Notifications of the trial, warm-up included."""
    received_count: int = 0
    """Those that came, each once."""
    events: tuple[tuple[float, str], ...] = ()
    """Changes of its page's life: when, on its own clock in microseconds, and what. That clock begins anew with a
    `reload`, behind which the page went on with what the page before it had put down."""
    wall_ahead_us: float | None = None
    """How far its wall clock was ahead of its own clock, in microseconds since 1970: what a page that stamps with
    `Date.now()` would have said of an arrival is its stamp and this. No delay is measured by it."""

    @property
    def reload_count(self) -> int:
        """How often its page was loaded anew."""
        return sum(kind == "reload" for _, kind in self.events)

    @property
    def asleep_ms(self) -> float:
        """How long it did not attend, whatever the reason; the three may overlap, so the longest counts."""
        return max(self.hidden_ms, self.frozen_ms, self.suspended_ms)
