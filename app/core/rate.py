"""Rate limit with bursts: the generic cell rate algorithm (ITU-T I.371, Annex A), whose state is one number.

That number is the *theoretical arrival time*: the moment of the next event if all events were evenly spaced. `advance` and
`wait_us` are the algorithm (its *virtual scheduling* form); whoever has thousands of clients stores one number per client.
`Rate` is an object around them. The caller passes the time everywhere.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

NETWORKS_MAX = 1024
"""Networks whose rates are stored; beyond it the least recently used one is dropped."""


def advance(theoretical_us: float, now_us: int, interval_us: float, count: float = 1) -> float:
    """Return the theoretical arrival time after `count` more events, which should be `interval_us` apart."""
    return max(theoretical_us, now_us) + interval_us * count


def wait_us(theoretical_us: float, now_us: int, tolerance_us: float) -> float:
    """Return the time until an event conforms, which may come `tolerance_us` early; 0 if it conforms now.

    A burst of n events needs a tolerance of n - 1 intervals if this is asked before the event is counted, and of n intervals
    if it is asked afterwards.
    """
    return max(theoretical_us - now_us - tolerance_us, 0.0)


class Rate:
    """Limit of `per_s` events per second on average, with bursts of `burst`."""

    __slots__ = ("_interval_us", "_theoretical_us", "_tolerance_us")

    def __init__(self, *, per_s: float, burst: float) -> None:
        assert per_s > 0
        assert burst >= 1
        self._interval_us = 1_000_000 / per_s
        self._tolerance_us = self._interval_us * (burst - 1)
        self._theoretical_us = 0.0

    def wait_us(self, now_us: int, count: int = 1) -> int:
        """Count `count` events and return 0, or count none of them and return the time to wait before the next try.

        More than `burst` events at once are never allowed, however long the caller waits.
        """
        last_us = advance(self._theoretical_us, now_us, self._interval_us, count - 1)
        early_us = wait_us(last_us, now_us, self._tolerance_us)
        if early_us > 0:
            return int(early_us) + 1
        self._theoretical_us = advance(last_us, now_us, self._interval_us)
        return 0


class SharedRate:
    """Global rate limit combined with one per network, so that one network cannot use up the global quota."""

    def __init__(self, *, per_s: float, burst: float, network_per_s: float, network_burst: float) -> None:
        assert network_per_s < per_s
        assert network_burst < burst
        self._network_per_s = network_per_s
        self._network_burst = network_burst
        self._global = Rate(per_s=per_s, burst=burst)
        self._by_network: OrderedDict[str, Rate] = OrderedDict()
        self._lock = threading.Lock()

    def wait_us(self, network: str | None, now_us: int) -> int:
        """Same as `Rate.wait_us`, for a client in `network`; `None` applies only the global limit."""
        with self._lock:
            # The network's limit first: a network that exceeds it uses nothing of the global quota.
            wait_us = 0 if network is None else self._rate_of(network).wait_us(now_us)
            return wait_us or self._global.wait_us(now_us)

    def _rate_of(self, network: str) -> Rate:
        found = self._by_network.setdefault(
            network, Rate(per_s=self._network_per_s, burst=self._network_burst)
        )
        self._by_network.move_to_end(network)
        if len(self._by_network) > NETWORKS_MAX:
            self._by_network.popitem(last=False)
        return found
