"""Throttle for guesses of tokens, links and codes: failures are counted per client network, in memory, bounded."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable

from app.core.errors import SiarError
from app.core.network_of import network_of

FAILURES_MAX = 5
FAILURES_WINDOW_US = 60_000_000
"""Failures within this time after which a network must wait."""

ADDRESSES_MAX = 1024
"""Networks with remembered failures; beyond it the one whose last failure is oldest is dropped."""


class TooManyGuesses(SiarError):
    """A client network has failed too often; even a correct secret must wait."""

    def __init__(self, wait_s: int) -> None:
        super().__init__(
            f"Too many wrong tokens, links or codes came from your address; try again in {wait_s} s. "
            "A right one waits as long."
        )
        self.wait_s = wait_s


class AuthThrottle:
    """Failures by client network: after five within a minute it must wait until the first is a minute old.

    This is a sliding window, not a rate (`app.core.rate`), which would allow a guess again after a fifth of the window.
    """

    def __init__(self, now_us: Callable[[], int]) -> None:
        self._now_us = now_us
        self._failures_us: OrderedDict[str, deque[int]] = OrderedDict()
        self._lock = threading.Lock()

    def check(self, address: str) -> None:
        """Raise `TooManyGuesses` if the address's network has to wait."""
        failures_us = self._failures_us.get(network_of(address)) if self._failures_us else None
        if failures_us is None or len(failures_us) < FAILURES_MAX:
            return
        left_us = failures_us[0] + FAILURES_WINDOW_US - self._now_us()
        if left_us > 0:
            raise TooManyGuesses(-(-left_us // 1_000_000))

    def record_failure(self, address: str) -> None:
        """Record a failure."""
        with self._lock:
            network = network_of(address)
            self._failures_us.setdefault(network, deque(maxlen=FAILURES_MAX)).append(self._now_us())
            self._failures_us.move_to_end(network)
            if len(self._failures_us) > ADDRESSES_MAX:
                self._failures_us.popitem(last=False)
