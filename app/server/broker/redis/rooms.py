"""Which of the servers on one Redis has the rooms: the first that came, until it goes.

A room with its phones lives in the memory of one process. Phones that reach another server would not be in it, and a
second room beside it would be measured amid the first one's notifications. So one server holds a lease in Redis and
renews it; the others refuse rooms in words. One that has died is followed by another when its lease is over.
"""

from __future__ import annotations

from app import clock
from app.core.errors import BrokerAway, NotKept
from app.server.broker.redis.link import RedisLink

LEASE_MS = 6_000
"""For so long nobody has rooms behind a server that died; a class waits as long for a phone that restarts."""

RENEW_US = 2_000_000
"""Two may be missed before the lease is over."""


class Rooms:
    """One server's part in it."""

    def __init__(self, link: RedisLink, server: str) -> None:
        """`server`: its name, the same for a worker and the one that takes its place; empty: it wants no rooms."""
        self._link, self._server = link, server
        self._looked_us: int | None = None
        self.are_here = True
        """While Redis does not answer, as it was: then nobody else can get them."""

    def keep(self) -> None:
        """Ask for the lease, or renew it, when it is time."""
        now_us = clock.monotonic_us()
        if not self._server or (self._looked_us is not None and now_us - self._looked_us < RENEW_US):
            return
        self._looked_us = now_us
        # Whoever asks Redis next finds out what is wrong with it, and says so.
        try:
            self.are_here = bool(self._link.ask("claim", self._server, LEASE_MS)[0])
        except (BrokerAway, NotKept):
            return

    def leave(self) -> None:
        """Let another server have them at once."""
        server, self._server = self._server, ""
        if server and self.are_here:
            try:
                self._link.ask("leave", server)
            except (BrokerAway, NotKept):
                return
