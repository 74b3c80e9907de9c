"""Socket.IO's connection state recovery: a session's name, with which a client reconnects as the same one.

The protocol: CONNECT to the client carries a `pid`, and each event carries the offset as its last argument. A client that
reconnects sends both, the offset only if it has received an event. A CONNECT with the same `pid` sets `recovered`.

The `pid` holds all that is to be restored: the id of the first connection, and its position at that time. Therefore
- a client that received nothing before the break recovers too (Node's own server fails there: socketio/socket.io#5538);
- a client recovers after a restart or on another server, wherever history reaches back far enough;
- no server keeps anything for absent clients.
A forged `pid` gives access to no more than `last_event_id` does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.core.position import UNKNOWN, Position, position_or_unknown

_FORM = re.compile(r"([A-Za-z0-9_-]{1,64})\.(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class RecoverableSession:
    """A client's identity across all of its connections."""

    sid: str
    """The id that its CONNECTs carry; empty if the `pid` is not ours."""
    joined_at: Position
    """Position from which the client resumes if it has received nothing."""

    @property
    def pid(self) -> str:
        """Return the session's name, as it is sent to the client."""
        return f"{self.sid}.{self.joined_at}"


def parse_pid(pid: str) -> RecoverableSession:
    """Return the session that a client names; if the name is not ours, its position is unknown, so it cannot be recovered."""
    match = _FORM.fullmatch(pid)
    if match is None:
        return RecoverableSession("", UNKNOWN)
    return RecoverableSession(match[1], position_or_unknown(match[2]))
