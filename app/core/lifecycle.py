"""A phone's own report of its behaviour in one trial, which decides whether the trial is valid."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LifecycleReport:
    """Report of one participant of one trial. Times are milliseconds of the trial; an undisturbed phone has 0."""

    client: int
    """0-based index: the participant's seat in the run minus 1."""
    disconnects: int = 0
    """Number of times that the transport under test lost its connection."""
    hidden_ms: float = 0.0
    frozen_ms: float = 0.0
    suspended_ms: float = 0.0
    """Time for which the whole device slept: its monotonic clock stopped while the wall clock went on."""
    clock_steps: int = 0
    """Number of breaks of its clock that the probes revealed."""
    expected_count: int = 0
    """Number of notifications of the trial, warm-up included."""
    received_count: int = 0
    """Number of distinct notifications that arrived."""
    events: tuple[tuple[float, str], ...] = ()
    """Lifecycle events of its page: moment on its own clock, microseconds, and kind. The clock restarts with a `reload`,
    after which the page continued from the state that the page before it had saved."""
    wall_ahead_us: float | None = None
    """Wall clock minus the page's own clock, microseconds since 1970. A stamp plus this is what a page that stamps with
    `Date.now()` would have recorded. No delay is computed from it."""

    @property
    def reload_count(self) -> int:
        """Number of times that its page was reloaded."""
        return sum(kind == "reload" for _, kind in self.events)

    @property
    def asleep_ms(self) -> float:
        """Time for which it was inactive for any reason; the three may overlap, so the longest counts."""
        return max(self.hidden_ms, self.frozen_ms, self.suspended_ms)
