"""A wait for whoever guesses tokens, links or codes: counted by address, in memory, bounded."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable

from app.core.errors import SiarError
from app.core.network_of import network_of

GUESSES_MAX = 5
GUESSES_US = 60_000_000
"""So many wrong ones from an address within a minute, then it waits."""

ADDRESSES_MAX = 1024
"""Addresses that are remembered for having guessed; beyond it the one that guessed longest ago is forgotten."""


class TooManyGuesses(SiarError):
    """An address gave too many wrong ones; a right one waits as well."""

    def __init__(self, wait_s: int) -> None:
        super().__init__(
            f"Too many wrong tokens, links or codes came from your address; try again in {wait_s} s. "
            "A right one waits as long."
        )
        self.wait_s = wait_s


class AuthThrottle:
    """Wrong ones by address: after five within a minute it waits until the first of them is a minute old."""

    def __init__(self, now_us: Callable[[], int]) -> None:
        self._now_us = now_us
        self._wrong_us: OrderedDict[str, deque[int]] = OrderedDict()
        self._lock = threading.Lock()

    def check(self, address: str) -> None:
        """Raises `TooManyGuesses` for an address that has to wait."""
        wrong_us = self._wrong_us.get(network_of(address)) if self._wrong_us else None
        if wrong_us is None or len(wrong_us) < GUESSES_MAX:
            return
        left_us = wrong_us[0] + GUESSES_US - self._now_us()
        if left_us > 0:
            raise TooManyGuesses(-(-left_us // 1_000_000))

    def wrong(self, address: str) -> None:
        """One more wrong one."""
        with self._lock:
            network = network_of(address)
            self._wrong_us.setdefault(network, deque(maxlen=GUESSES_MAX)).append(self._now_us())
            self._wrong_us.move_to_end(network)
            if len(self._wrong_us) > ADDRESSES_MAX:
                self._wrong_us.popitem(last=False)
