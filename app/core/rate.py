"""A rate that may be exceeded for a moment: the generic cell rate algorithm (ITU-T I.371, Annex A), one integer."""

from __future__ import annotations

import threading
from collections import OrderedDict

NETWORKS_MAX = 1024
"""Networks whose rates are remembered; beyond it the one that asked longest ago is forgotten."""


class Rate:
    """Allows `per_s` events in a second on average and `burst` at once. The time is the caller's."""

    __slots__ = ("_pause_us", "_tolerance_us", "_would_be_us")

    def __init__(self, *, per_s: float, burst: float) -> None:
        assert per_s > 0
        assert burst >= 1
        self._pause_us = 1_000_000 / per_s
        self._tolerance_us = self._pause_us * (burst - 1)
        self._would_be_us = 0.0
        """When the next event would come if all had come evenly."""

    def wait_us(self, now_us: int, count: int = 1) -> int:
        """Count `count` events, all or none, and return 0; else return how long to wait for the next try.

        More than `burst` at once are never allowed, however long somebody waits.
        """
        ahead_us = max(self._would_be_us - now_us, 0) + self._pause_us * (count - 1) - self._tolerance_us
        if ahead_us > 0:
            return int(ahead_us) + 1
        self._would_be_us = max(self._would_be_us, now_us) + self._pause_us * count
        return 0


class SharedRate:
    """A rate for everybody together, and one for each network of addresses: nobody alone uses up what is for all."""

    def __init__(self, *, per_s: float, burst: float, network_per_s: float, network_burst: float) -> None:
        assert network_per_s < per_s
        assert network_burst < burst
        self._network_per_s = network_per_s
        self._network_burst = network_burst
        self._everybody = Rate(per_s=per_s, burst=burst)
        self._by_network: OrderedDict[str, Rate] = OrderedDict()
        self._lock = threading.Lock()

    def wait_us(self, network: str | None, now_us: int) -> int:
        """As `Rate.wait_us`, for one who comes from `network`; `None`: who is not counted by that."""
        with self._lock:
            # Its own first: whoever exceeds that takes nothing from the others.
            wait_us = 0 if network is None else self._rate_of(network).wait_us(now_us)
            return wait_us or self._everybody.wait_us(now_us)

    def _rate_of(self, network: str) -> Rate:
        found = self._by_network.setdefault(
            network, Rate(per_s=self._network_per_s, burst=self._network_burst)
        )
        self._by_network.move_to_end(network)
        if len(self._by_network) > NETWORKS_MAX:
            self._by_network.popitem(last=False)
        return found
