"""When a green thread that is never made to wait lets the others run."""

from __future__ import annotations

from app import clock

ALONE_US_MAX = 8_000
"""Of the requests of one connection in a row: the others' turn takes 50 to 90 us out of cold caches, for which everybody waits
who is being written to. A client that asks again within the microseconds between the look at its
socket and the reading from it is never seen to have asked, and never waited for either: going on publishing, one kept
everybody else waiting for 50 ms and more."""

WAITED_US = 10_000
"""Who takes that long to read a request has waited for it. Many times what reading takes, so that a process from which the
system takes the processor now and then, amid reading, does not pass for one that waits."""


class YieldTimer:
    """Of a worker: one for all its green threads."""

    def __init__(self) -> None:
        self._given_us = clock.monotonic_us()

    def give(self) -> None:
        """Noted: the others run now."""
        self._given_us = clock.monotonic_us()

    def waited(self, since_us: int) -> None:
        """A thread has its request, for which it has waited since then, or found it there."""
        if clock.monotonic_us() - since_us >= WAITED_US:
            self.give()

    def is_due(self) -> bool:
        """Whether the others have waited long enough, as far as is known."""
        return clock.monotonic_us() - self._given_us >= ALONE_US_MAX
