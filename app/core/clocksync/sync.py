"""Clock of one client over a session: takes probes, gives an offset with a hard bound for any sample, or a reason.

Probes are added in the order in which they were sent. A probe that contradicts the earlier ones reveals a break
(clock step, suspend, skew beyond rho) and ends the segment. A new timebase (the server was restarted) does the same.
No model extends across a break:

    probes     x x x x x x  o     o ?  X   x x x x x x
    segment    |---- 0 ---|                |--- 1 ...
    samples        ok       epoch_break        ok

`X` is the probe that contradicts the earlier ones, `o` the last one that the later ones contradict, and `?` agrees with
both sides; none of the three is used. `static/js/clocksync.js` is the same in JavaScript; test vectors check that both
give the same doubles.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal

from app.core.clocksync.model import QUANTUM_US, SKEW_MAX, WANDER_US, ClockModel, Probe, Tolerances
from app.core.clocksync.segment import ClockSegment

__all__ = [
    "BOUND_MAX_US",
    "PROBE_COUNT_MAX",
    "ClockModel",
    "ClockReading",
    "ClockSync",
    "Probe",
    "Tolerances",
]

BOUND_MAX_US = 5_000.0
"""U_max: a sample with a wider bound is excluded from absolute delays."""

PROBE_COUNT_MAX = 16_384
"""About 2.8 hours of probing: 8 probes about every 5 s. At the limit the oldest half minute is dropped, and its samples
become `no_clock`."""

_START_US = attrgetter("start_us")


@dataclass(frozen=True, slots=True)
class ClockReading:
    """Clock offset for one sample."""

    offset_us: float | None
    """Server time minus client time; `None` in the states `no_clock` and `epoch_break`."""
    bound_us: float | None
    """Greatest possible error of `offset_us`; `None` together with it."""
    state: Literal["ok", "no_clock", "wide_u", "epoch_break"]
    """`ok`; `no_clock`: no probe near enough; `wide_u`: bound above the limit; `epoch_break`: inside a break."""


class ClockSync:
    """Clock of one client from page load to page unload. A client whose clock restarts needs a new instance."""

    def __init__(
        self,
        *,
        quantum_us: float = QUANTUM_US,
        wander_us: float = WANDER_US,
        skew_max: float = SKEW_MAX,
        bound_max_us: float = BOUND_MAX_US,
        probe_count_max: int = PROBE_COUNT_MAX,
    ) -> None:
        self.break_count = 0
        """Number of breaks that a contradiction revealed; new timebases and `open_segment` do not count."""
        self.rejected_count = 0
        """Number of probes that were out of order, impossible for any clock, or too near to a break."""
        self._tolerances = Tolerances(quantum_us, wander_us, skew_max)
        self._bound_max_us = bound_max_us
        self._probe_count_max = probe_count_max
        self._segments: list[ClockSegment] = []
        self._is_open = False
        self._clean_after_us = float("-inf")

    @property
    def segments(self) -> tuple[ClockSegment, ...]:
        """Clock segments so far, oldest first, each with at least one probe."""
        return tuple(self._segments)

    @property
    def probe_count(self) -> int:
        """Number of probes in use."""
        return sum(len(segment.probes) for segment in self._segments)

    def add(self, probe: Probe, *, timebase: str = "") -> Literal["accepted", "rejected", "break"]:
        """Add a probe. After `break`, samples are invalid until the next accepted probe."""
        if not self._is_usable(probe):
            self.rejected_count += 1
            return "rejected"
        if not self._is_open or self._segments[-1].timebase != timebase:
            self._segments.append(ClockSegment(timebase, self._tolerances))
            self._is_open = True
        if not self._segments[-1].add(probe):
            self._break_at(probe)
            return "break"
        if self.probe_count > self._probe_count_max:
            self._forget_oldest()
        return "accepted"

    def open_segment(self) -> None:
        """Begin a new segment with the next probe, because the page was frozen, hidden or restored."""
        self._is_open = False

    def read(self, client_us: float, *, live: bool = False) -> ClockReading:
        """Return the clock offset at a client's stamp. `live`: later probes are still to come, so earlier ones suffice."""
        segment = self._segment_at(client_us)
        if segment is None:
            return ClockReading(None, None, "no_clock")
        if client_us > segment.end_us and (segment is not self._segments[-1] or not self._is_open):
            return ClockReading(None, None, "epoch_break")
        model = segment.model_at(client_us)
        if model is None or not segment.has_probes_around(client_us, live=live):
            return ClockReading(None, None, "no_clock")
        bound_us = model.bound_us(client_us)
        state: Literal["ok", "wide_u"] = "ok" if bound_us <= self._bound_max_us else "wide_u"
        return ClockReading(model.offset_us(client_us), bound_us, state)

    def model_at(self, client_us: float) -> ClockModel | None:
        """Return the model that `read` uses, in any state; before the first probe the first model, `None` without any."""
        segment = self._segment_at(client_us) or next(iter(self._segments), None)
        return segment.model_at(client_us) if segment else None

    def _segment_at(self, client_us: float) -> ClockSegment | None:
        """Return the last segment that began by then."""
        index = bisect_right(self._segments, client_us, key=_START_US)
        return self._segments[index - 1] if index else None

    def _is_usable(self, probe: Probe) -> bool:
        if not probe.is_ordered() or ClockModel.start(probe, self._tolerances) is None:
            return False
        last_us = self._segments[-1].probes[-1].t1_us if self._segments else float("-inf")
        return probe.t1_us >= max(last_us, self._clean_after_us)

    def _break_at(self, probe: Probe) -> None:
        self.break_count += 1
        self._is_open = False
        self._clean_after_us = probe.t4_us
        self._segments[-1].retreat(probe)
        self._drop_empty_segments()

    def _forget_oldest(self) -> None:
        self._segments[0].forget_oldest()
        self._drop_empty_segments()

    def _drop_empty_segments(self) -> None:
        self._segments = [segment for segment in self._segments if segment.probes]
        self._is_open = self._is_open and bool(self._segments)
