"""Limits connections and the request rate per client network, before any request is read.

    accept -> enter: too many of this client, or in total? Then the longest idle connection is closed
           -> wait_s: rate limit exceeded? Then the next request is read later; meanwhile it waits in TCP
           -> leave: closed, or now a subscription, which is counted elsewhere (server/wsgi/admission.py)

A connection that sends nothing, or a byte at a time, has its place only until another connection needs one. A client
that sends requests without end is limited to its share of the time. Both limits follow from one setting, so opening
the server to a whole school behind one router takes one number.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from app import clock
from app.core import rate
from app.core.network_of import network_of
from app.server.wsgi.peer import cut

logger = logging.getLogger("siar.door")

REQUESTS_PER_S_PER_PLACE = 0.125
"""Rate limit of a client network per place, which is 64 requests per second by default. Four clients at this limit
use a quarter of a core where a request costs a millisecond. A phone makes about one request in two seconds."""

BURST_S = 20
"""Burst that the rate limit allows, in seconds of its rate: forty phones behind one router that open the page at
once, which has thirty files."""

PEAK_FACTOR = 4
PEAK_BURST = 16
"""Requests of a burst are spaced as at four times the rate limit, but for the first ones. A burst at full speed would be a
queue of as many requests as one address may have connections, and everybody else's would stand behind them; the largest
take 2.7 ms each (measured)."""

PACKET = 1 / 8
"""Cost of a kilobyte of a Socket.IO packet, or of a read of a body, in requests: 0.1 ms or so, while a request takes 0.8 ms
(measured)."""

FRAME = 1 / 64
"""Cost of a WebSocket frame, or of a read, in requests: 13 us (measured)."""

RESUMED = 1 / 200
"""Cost of a notification of history when a client resumes, in requests: finding ten thousand takes 2.6 ms, and framing them
ten times that, in one piece (measured)."""

PENALTY_REQUESTS = 50
"""Penalty, in requests, for a WebSocket that is closed for its contents: it may have cost two thousand packets."""

PENALTY_S_MAX = 10
"""Longest wait that penalties alone cause: other users behind the same router may be innocent."""

CLIENTS_SWEPT_AT = 4096
"""Count of client records at which those without connections are dropped."""


_present: ConnectionLimiter | None = None
"""This process's limiter; `None` under WSGI servers other than our workers."""


def use(limiter: ConnectionLimiter) -> None:
    """Set the process's limiter; called by the worker before the application is loaded."""
    global _present
    _present = limiter


def credit(address: str) -> None:
    """Call `ConnectionLimiter.credit`, if there is a limiter."""
    if _present is not None:
        _present.credit(address)


def penalise(address: str) -> None:
    """Call `ConnectionLimiter.penalise`, if there is a limiter."""
    if _present is not None:
        _present.penalise(address)


def wait_s(address: str, requests: float) -> float:
    """Call `ConnectionLimiter.wait_s`, if there is a limiter, for what costs as much as so many requests."""
    return 0.0 if _present is None else _present.wait_s(address, requests)


@dataclass(slots=True)
class _Client:
    """The state of one client network."""

    count: int = 0
    """Its connections in the request loop."""
    idle: dict[Hashable, Any] = field(default_factory=dict)
    """Those of them that wait for a request, the longest waiting first."""
    theoretical_us: float = 0.0
    """Theoretical arrival time of its next request (`app.core.rate`), monotonic."""
    peak_us: float = 0.0
    """The same, as at the rate of a burst."""
    is_logged: bool = False
    """A warning about it was logged."""


class ConnectionLimiter:
    """Limits places in the request loop per client network. Used from one native thread, by its green threads."""

    def __init__(
        self,
        *,
        count_max: int,
        per_address_max: int,
        is_exempt: Callable[[str], bool],
        now_us: Callable[[], int] = clock.monotonic_us,
    ) -> None:
        """`is_exempt`: addresses without limits, such as a proxy's, which stands for all its clients."""
        self._count_max = count_max
        self._per_address_max = per_address_max
        self._is_exempt = is_exempt
        self._now_us = now_us
        self._interval_us = 1_000_000 / (per_address_max * REQUESTS_PER_S_PER_PLACE)
        self._clients: dict[str, _Client] = {}
        self._idle: dict[Hashable, tuple[_Client, Any]] = {}
        """Idle connections of all clients, the longest waiting first."""
        self.count = 0
        """Connections in the request loop."""

    def enter(self, address: str) -> bool:
        """Take a place; return False if there is none. After True, one `leave` must follow."""
        client = self._client(address)
        if client.count >= self._per_address_max and not self._is_exempt(address):
            self._log_once(client, address)
            if not client.idle:
                return False
            self._close_idle(next(iter(client.idle)))
        if self.count >= self._count_max:
            if not self._idle:
                return False
            self._close_idle(next(iter(self._idle)))
        client.count += 1
        self.count += 1
        return True

    def leave(self, address: str) -> None:
        """Release the place of a connection that has left the request loop."""
        self.count -= 1
        client = self._clients[network_of(address)]
        client.count -= 1

    def wait_s(self, address: str, requests: float = 1) -> float:
        """Return how long to delay what costs as much as so many requests of this address; each call counts it.

        Waiting requests have reserved slots, so each green thread wakes once, and not for every slot.
        """
        if self._is_exempt(address):
            return 0.0
        client, now_us = self._client(address), self._now_us()
        peak_interval_us = self._interval_us / PEAK_FACTOR
        wait_us = max(
            rate.wait_us(client.theoretical_us, now_us, BURST_S * 1_000_000),
            rate.wait_us(client.peak_us, now_us, PEAK_BURST * peak_interval_us),
        )
        client.theoretical_us = rate.advance(client.theoretical_us, now_us, self._interval_us, requests)
        client.peak_us = rate.advance(client.peak_us, now_us, peak_interval_us, requests)
        return wait_us / 1e6

    def credit(self, address: str) -> None:
        """Take back one request of this address: it was an operator's, who has separate limits."""
        client = self._clients.get(network_of(address))
        if client is not None:
            client.theoretical_us -= self._interval_us
            client.peak_us = (
                0.0  # Many publish at once there; those behind the first ones must not be spaced.
            )

    def penalise(self, address: str) -> None:
        """Charge a client whose WebSocket broke the protocol or flooded us, which costs as much as many requests."""
        client, now_us = self._client(address), self._now_us()
        penalised_us = rate.advance(client.theoretical_us, now_us, self._interval_us, PENALTY_REQUESTS)
        latest_us = max(client.theoretical_us, now_us + (BURST_S + PENALTY_S_MAX) * 1_000_000)
        client.theoretical_us = min(penalised_us, latest_us)

    def begin_idle(self, address: str, key: Hashable, sock: Any) -> None:
        """Mark a connection as waiting for its next request, so that it may be closed to free a place."""
        client = self._client(address)
        client.idle[key] = sock
        self._idle[key] = client, sock

    def end_idle(self, key: Hashable) -> None:
        """Mark a connection as no longer waiting."""
        found = self._idle.pop(key, None)
        if found is not None:
            found[0].idle.pop(key, None)

    def idle_sockets(self) -> list[Any]:
        """Return the sockets of all idle connections."""
        return [sock for _client, sock in self._idle.values()]

    def _close_idle(self, key: Hashable) -> None:
        """Close an idle connection. Its reader sees an orderly end, not an error."""
        sock = self._idle[key][1]
        self.end_idle(key)
        cut(sock)

    def _client(self, address: str) -> _Client:
        name = network_of(address)
        client = self._clients.get(name)
        if client is None:
            if len(self._clients) >= CLIENTS_SWEPT_AT:
                self._sweep()
            client = self._clients[name] = _Client()
        return client

    def _sweep(self) -> None:
        """Drop the records of clients without connections whose rate limit has fully recovered."""
        now_us = self._now_us()
        for name in [
            name for name, each in self._clients.items() if not each.count and each.theoretical_us <= now_us
        ]:
            del self._clients[name]

    def _log_once(self, client: _Client, address: str) -> None:
        if not client.is_logged:
            client.is_logged = True
            logger.warning(
                "%s has %d connections without a subscription, as many as one address may "
                "(SIAR_CONNECTIONS_PER_ADDRESS_MAX); the longest idle ones are closed.",
                address,
                client.count,
            )
