"""Socket.IO's connection state recovery: the name of a session, by which its client comes back as the same.

The protocol: CONNECT carries a `pid`; each event carries the offset as its last argument; a client that comes back
sends both, the offset only if it has received an event. A CONNECT with the same `pid` tells it `recovered`.

The `pid` holds all that is to be restored: the id of the first connection, and the position at which that came in. So
a client that received nothing before the break recovers too (Node's own server fails there: socketio/socket.io#5538),
and so does one that comes back after a restart or to another server, wherever history reaches back. No server keeps
anything for those that are away. Who makes a `pid` up gets what `last_event_id` gives to everybody.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.core.position import UNKNOWN, Position, position_or_unknown

_FORM = re.compile(r"([A-Za-z0-9_-]{1,64})\.(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class RecoverableSession:
    """A client's identity over all of its connections."""

    sid: str
    """The id that its CONNECTs tell; empty where the `pid` has none."""
    came_in_at: Position
    """Position from which it resumes if it has received nothing."""

    @property
    def pid(self) -> str:
        """Its name."""
        return f"{self.sid}.{self.came_in_at}"


def session_of(pid: str) -> RecoverableSession:
    """The session that a client names, which no history reaches if the name is not ours."""
    match = _FORM.fullmatch(pid)
    if match is None:
        return RecoverableSession("", UNKNOWN)
    return RecoverableSession(match[1], position_or_unknown(match[2]))
