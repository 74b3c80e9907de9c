"""A lease in Redis that decides which of several servers has the rooms: the first one, until it ends.

A room with its phones lives in the memory of one process. Phones that reach another server would not be in it, and a
second room on another server would be measured amid the notifications of the first. So one server holds a lease and
renews it; the others refuse rooms with a message. After a crash another server gets the lease when it expires.
"""

from __future__ import annotations

from app import clock
from app.core.errors import BrokerAway, NotKept
from app.server.broker.redis.link import RedisLink

LEASE_MS = 6_000
"""Lease time, during which there are no rooms after a crash; a class waits as long for a phone that restarts."""

RENEW_US = 2_000_000
"""Two renewals may fail before the lease expires."""


class Rooms:
    """One server's claim to the rooms."""

    def __init__(self, link: RedisLink, server: str) -> None:
        """`server`: its name, the same for a worker and its successor; empty: it wants no rooms."""
        self._link, self._server = link, server
        self._checked_us: int | None = None
        self.are_here = True
        """Unchanged while Redis does not answer: then nobody else can get the lease."""

    def keep(self) -> None:
        """Claim or renew the lease when it is due."""
        now_us = clock.monotonic_us()
        if not self._server or (self._checked_us is not None and now_us - self._checked_us < RENEW_US):
            return
        self._checked_us = now_us
        # Errors are left to the next request to Redis, which reports them.
        try:
            self.are_here = bool(self._link.ask("claim", self._server, LEASE_MS)[0])
        except (BrokerAway, NotKept):
            return

    def leave(self) -> None:
        """Release the lease at once."""
        server, self._server = self._server, ""
        if server and self.are_here:
            try:
                self._link.ask("leave", server)
            except (BrokerAway, NotKept):
                return
