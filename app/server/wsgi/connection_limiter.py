"""Who is let in by the request loop, before a word was read: strangers cannot take all of its places, nor all of its time.

    accept -> enter: too many of this address, or in all? then the one that has waited longest for a request goes
           -> wait_s: more requests than its share? then the next one is read later, and its sender waits in TCP
           -> leave: the end, or the connection became a subscription, which is counted elsewhere (server/wsgi/admission.py)

A connection that says nothing, or says it a byte at a time, costs a place until somebody else needs that place. One that
asks without end costs its address' share of the time. Both bounds follow from one setting, so that whoever opens the
server to a whole school behind one router raises one number.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from app import clock
from app.core.network_of import network_of
from app.server.wsgi.peer import cut

logger = logging.getLogger("siar.door")

REQUESTS_PER_S_OF_A_PLACE = 0.125
"""Requests per second and place that an address may make on average, 64 by default: four such addresses that ask
without end take a quarter of a core where a request costs a millisecond. A phone makes about one in two seconds."""

AT_ONCE_S = 20
"""As many as of so many seconds at once: forty phones behind one router that open the page, of thirty files each."""

BREACH_REQUESTS = 50
"""What a WebSocket that is closed for what it sent counts as: two thousand packets may have been looked at before."""

PENALTY_S_MAX = 10
"""Beyond it such charges make nobody wait: behind the same router others may be innocent."""

GUESTS_SWEPT_AT = 4096
"""Addresses that have left are forgotten when there are so many."""


_present: ConnectionLimiter | None = None
"""This process' door; `None` under servers that are not ours."""


def use(door: ConnectionLimiter) -> None:
    """Called by the worker whose door it is, before the application is loaded."""
    global _present
    _present = door


def credit(address: str) -> None:
    """What `ConnectionLimiter.refund` does, where there is a door."""
    if _present is not None:
        _present.credit(address)


def penalise(address: str) -> None:
    """What `ConnectionLimiter.charge` does, where there is a door."""
    if _present is not None:
        _present.penalise(address)


@dataclass(slots=True)
class _Guest:
    """An address."""

    count: int = 0
    """Connections that it has in the request loop."""
    idle: dict[Hashable, Any] = field(default_factory=dict)
    """Of those the ones that wait for a request, the longest waiting first."""
    due_us: float = 0.0
    """When its next request would come if all had come evenly (the generic cell rate algorithm, ITU-T I.371)."""
    is_told: bool = False
    """Whether the log has it."""


class ConnectionLimiter:
    """The request loop's places, by address. From one thread; green ones do."""

    def __init__(
        self,
        *,
        count_max: int,
        per_address_max: int,
        is_exempt: Callable[[str], bool],
        now_us: Callable[[], int] = clock.monotonic_us,
    ) -> None:
        """`is_exempt`: an address that neither bound applies to, such as a proxy's, behind which everybody is."""
        self._count_max = count_max
        self._per_address_max = per_address_max
        self._is_exempt = is_exempt
        self._now_us = now_us
        self._pause_us = 1_000_000 / (per_address_max * REQUESTS_PER_S_OF_A_PLACE)
        self._guests: dict[str, _Guest] = {}
        self._idle: dict[Hashable, tuple[_Guest, Any]] = {}
        """Of all addresses, the longest waiting first."""
        self.count = 0
        """Connections in the request loop."""

    def enter(self, address: str) -> bool:
        """Whether there is a place; where there is, one `leave` follows."""
        guest = self._guest(address)
        if guest.count >= self._per_address_max and not self._is_exempt(address):
            self._tell(guest, address)
            if not guest.idle:
                return False
            self._end(next(iter(guest.idle)))
        if self.count >= self._count_max:
            if not self._idle:
                return False
            self._end(next(iter(self._idle)))
        guest.count += 1
        self.count += 1
        return True

    def leave(self, address: str) -> None:
        """A connection has left the request loop."""
        self.count -= 1
        guest = self._guests[network_of(address)]
        guest.count -= 1

    def wait_s(self, address: str) -> float:
        """How long to wait before the next request of this address is read; each call counts as one request.

        Those that wait have their turns reserved: they wake once each, and not all of them for every turn.
        """
        if self._is_exempt(address):
            return 0.0
        guest, now_us = self._guest(address), self._now_us()
        wait_us = guest.due_us - now_us - AT_ONCE_S * 1_000_000
        guest.due_us = max(guest.due_us, now_us) + self._pause_us
        return max(0.0, wait_us / 1e6)

    def credit(self, address: str) -> None:
        """A request of this address counts for nothing: it was an operator's, who has limits of their own."""
        guest = self._guests.get(network_of(address))
        if guest is not None:
            guest.due_us -= self._pause_us

    def penalise(self, address: str) -> None:
        """A WebSocket of this address broke the protocol or flooded us: that cost as much as many requests."""
        guest, now_us = self._guest(address), self._now_us()
        due_us = max(guest.due_us, now_us) + BREACH_REQUESTS * self._pause_us
        guest.due_us = min(due_us, max(guest.due_us, now_us + (AT_ONCE_S + PENALTY_S_MAX) * 1_000_000))

    def begin_idle(self, address: str, who: Hashable, sock: Any) -> None:
        """A connection waits for its next request: it may be ended for another's sake."""
        guest = self._guest(address)
        guest.idle[who] = sock
        self._idle[who] = guest, sock

    def end_idle(self, who: Hashable) -> None:
        """It has one, or has ended."""
        found = self._idle.pop(who, None)
        if found is not None:
            found[0].idle.pop(who, None)

    def idle_sockets(self) -> list[Any]:
        """Of everyone who waits for a request."""
        return [sock for _guest, sock in self._idle.values()]

    def _end(self, who: Hashable) -> None:
        """Its reader sees the end, which is no error."""
        sock = self._idle[who][1]
        self.end_idle(who)
        cut(sock)

    def _guest(self, address: str) -> _Guest:
        name = network_of(address)
        guest = self._guests.get(name)
        if guest is None:
            if len(self._guests) >= GUESTS_SWEPT_AT:
                self._sweep()
            guest = self._guests[name] = _Guest()
        return guest

    def _sweep(self) -> None:
        """Whoever has no connection and no debt is as good as a stranger."""
        now_us = self._now_us()
        for name in [name for name, each in self._guests.items() if not each.count and each.due_us <= now_us]:
            del self._guests[name]

    def _tell(self, guest: _Guest, address: str) -> None:
        if not guest.is_told:
            guest.is_told = True
            logger.warning(
                "%s has %d connections without a subscription, as many as one address may "
                "(SIAR_CONNECTIONS_PER_ADDRESS_MAX); the longest idle ones are closed.",
                address,
                guest.count,
            )
