"""Socket.IO's connection state recovery: who may come back as the same, and where they left off.

The protocol: CONNECT carries a `pid`; each event carries the offset as its last argument; a client that comes back
sends both, the offset only if it has received an event. A CONNECT with the same `pid` tells it `recovered`.
Because the position at which a client came in is kept here, one that received nothing before the break recovers too
(Node's own server fails there: socketio/socket.io#5538). The `pid` tells it as well, so that even a process that does
not know the session any more, or never did, can send what was missed or say that there is a gap.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict

from app import clock
from app.core.position import Position, position_or_unknown

ABSENCE_MAX_US = 120_000_000
"""How long a client may be away: two minutes, the protocol's default."""

SESSIONS_MAX = 20_000
"""Beyond it the oldest is forgotten, and its client resumes like a new one."""


class Sessions:
    """The sessions of clients that asked for recovery. All methods may be called from any thread."""

    def __init__(self, *, count_max: int = SESSIONS_MAX) -> None:
        self._count_max = count_max
        self._positions: OrderedDict[str, Position] = OrderedDict()
        """Where the client of each `pid` came in; the oldest in front."""
        self._absent: OrderedDict[str, int] = OrderedDict()
        """When those left that are away; who left first in front."""
        self._lock = threading.Lock()

    def begin(self, position: Position) -> str:
        """A new session; its `pid` has 128 random bits, and the position behind them."""
        pid = f"{secrets.token_urlsafe(16)}.{position}"
        with self._lock:
            self._forget_the_absent()
            self._positions[pid] = position
            if len(self._positions) > self._count_max:
                oldest, _ = self._positions.popitem(last=False)
                self._absent.pop(oldest, None)
        return pid

    def resume(self, pid: str) -> Position | None:
        """Where the client of `pid` came in, if it may come back; `None` for a stranger or one too long away."""
        with self._lock:
            self._forget_the_absent()
            return self._positions.get(pid)

    def enter(self, pid: str) -> None:
        """The client of `pid` is back: its absence is over. Who may come back and gets another `pid` stays absent."""
        with self._lock:
            self._absent.pop(pid, None)

    @staticmethod
    def came_in_at(pid: str) -> Position:
        """Where a client came in by the `pid` of any process; `UNKNOWN` if it does not say."""
        return position_or_unknown(pid.partition(".")[2])

    def leave(self, pid: str) -> None:
        """The connection of `pid` has ended: from now on its absence counts."""
        with self._lock:
            if pid in self._positions:
                self._absent[pid] = clock.now_us()
                self._absent.move_to_end(pid)

    def _forget_the_absent(self) -> None:
        deadline_us = clock.now_us() - ABSENCE_MAX_US
        while self._absent and next(iter(self._absent.values())) <= deadline_us:
            pid, _ = self._absent.popitem(last=False)
            self._positions.pop(pid, None)
