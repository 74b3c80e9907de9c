"""One expected delivery of one notification to one client, and its outcome.

The receiver (a phone or a built-in client) makes the record, the runner stores it, and the analysis reads it.
Times are microseconds in the server's time base (`monotonic_us + anchor_us`), except where a name contains `client`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """Outcome of an expected delivery; each has exactly one."""

    ON_TIME = "on_time"
    LATE = "late"
    """The notification arrived after the drain limit, or after a freeze."""
    REPLAYED = "replayed"
    """The notification was replayed from history after a reconnect."""
    LOST = "lost"
    """The notification had not arrived when the trial closed, not even by resume."""
    DUPLICATE = "duplicate"
    """A second arrival of the same notification; it is an extra row in addition to the first."""


class SampleState(StrEnum):
    """Usability of an arrival's delay; any state but OK is stored and counted, and excluded from delays."""

    OK = "ok"
    NO_CLOCK = "no_clock"
    WIDE_U = "wide_u"
    HIDDEN = "hidden"
    EPOCH_BREAK = "epoch_break"
    WARMUP = "warmup"
    REPLAY = "replay"
    POLLING = "polling"


class Lifecycle(StrEnum):
    """State of the client's page when it stamped an arrival; a built-in client is always visible."""

    VISIBLE = "visible"
    HIDDEN = "hidden"
    FROZEN = "frozen"
    RESUMED = "resumed"
    """The page was just unfrozen; what arrives now waited for it."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One row of the store's table `delivery` and of `deliveries.csv`."""

    client: int
    """0-based index within the trial; for a phone, its seat in the run minus 1."""
    seq: int
    """0-based number of the notification within the trial, warm-up included."""
    warmup: bool
    offset: int | None
    """Position in the broker's order; `None` if the source never published it."""
    due_us: int
    sent_us: int | None
    received_client_us: float | None
    """Arrival on the client's own monotonic clock, stamped right after the read; `None` if lost."""
    clock_offset_us: float | None
    """Offset to add to a client stamp to get server time (theta)."""
    clock_bound_us: float | None
    """Hard bound of the error of `clock_offset_us` (u)."""
    kernel_received_us: float | None
    """The kernel's receive stamp in server time; `None` without one, or if one read returned several messages."""
    state: SampleState
    outcome: Outcome
    visible: bool = True
    lifecycle: Lifecycle = Lifecycle.VISIBLE

    @property
    def received_us(self) -> float | None:
        """Arrival in server time; `None` if lost or without a clock offset."""
        if self.received_client_us is None or self.clock_offset_us is None:
            return None
        return self.received_client_us + self.clock_offset_us

    @property
    def delay_ms(self) -> float | None:
        """Delay from the due time (measurement.md section 6: schedule delay), in ms."""
        received_us = self.received_us
        return None if received_us is None else (received_us - self.due_us) / 1000

    @property
    def delay_from_sent_ms(self) -> float | None:
        """Delay from the moment at which the broker got it, in ms."""
        received_us = self.received_us
        if received_us is None or self.sent_us is None:
            return None
        return (received_us - self.sent_us) / 1000
