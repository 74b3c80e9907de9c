"""One expected delivery of one notification to one client, and what became of it.

The record is made by whoever received (a phone, a built-in client), stored by the runner and read by the analysis.
Times are microseconds in the server's time base (`monotonic_us + anchor_us`), except where a name says `client`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """What became of an expected delivery; each has exactly one."""

    ON_TIME = "on_time"
    LATE = "late"
    """Arrived after the drain limit, or after a freeze."""
    REPLAYED = "replayed"
    """Came from history after a reconnect."""
    LOST = "lost"
    """Was not there when the trial closed, resume included."""
    DUPLICATE = "duplicate"
    """A second arrival of the same notification; an extra row beside the first."""


class SampleState(StrEnum):
    """Whether an arrival's delay may be used; anything but OK is kept, counted and left out."""

    OK = "ok"
    NO_CLOCK = "no_clock"
    WIDE_U = "wide_u"
    HIDDEN = "hidden"
    EPOCH_BREAK = "epoch_break"
    WARMUP = "warmup"
    REPLAY = "replay"
    POLLING = "polling"


class Lifecycle(StrEnum):
    """What the client's page was doing when it stamped an arrival; a built-in client is always visible."""

    VISIBLE = "visible"
    HIDDEN = "hidden"
    FROZEN = "frozen"
    RESUMED = "resumed"
    """Just thawed: what comes now waited for it."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A row of the store's table of deliveries, and of `deliveries.csv`."""

    client: int
    """0-based index within the trial; of a phone its seat in the run, minus 1."""
    seq: int
    """0-based number of the notification within the trial, warm-up included."""
    warmup: bool
    offset: int | None
    """Position in the broker's order; `None` when the source never published it."""
    due_us: int
    sent_us: int | None
    received_client_us: float | None
    """Arrival on the client's own monotonic clock, stamped right after the read; `None` when lost."""
    clock_offset_us: float | None
    """What added to a client stamp gives server time (theta)."""
    clock_bound_us: float | None
    """The hard bound of `clock_offset_us` (u)."""
    kernel_received_us: float | None
    """The kernel's receive stamp in server time; `None` where there is none or one read held several messages."""
    state: SampleState
    outcome: Outcome
    visible: bool = True
    lifecycle: Lifecycle = Lifecycle.VISIBLE

    @property
    def received_us(self) -> float | None:
        """Arrival in server time, or `None`."""
        if self.received_client_us is None or self.clock_offset_us is None:
            return None
        return self.received_client_us + self.clock_offset_us

    @property
    def delay_ms(self) -> float | None:
        """Delivery delay from when it was due (measurement.md section 6: schedule delay), in ms."""
        received_us = self.received_us
        return None if received_us is None else (received_us - self.due_us) / 1000

    @property
    def delay_from_sent_ms(self) -> float | None:
        """Delay from when it was handed to the broker, in ms."""
        received_us = self.received_us
        if received_us is None or self.sent_us is None:
            return None
        return (received_us - self.sent_us) / 1000
