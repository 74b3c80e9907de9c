"""Position in the total order of notifications: `<epoch>.<offset>`, the same on every transport.

The epoch changes when history is lost, so that an offset of the old history is never taken for one of the new.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.core.errors import MalformedPosition
from app.core.wire import OFFSET_MAX

_FORM = re.compile(r"([A-Za-z0-9_-]{1,32})\.(0|[1-9][0-9]{0,15})")


@dataclass(frozen=True, slots=True)
class Position:
    """A cursor in the order: everything up to and including `offset` has been seen."""

    epoch: str
    """Name of one history, from its creation until it is lost."""

    offset: int
    """Number that rises by one for each notification over all topics; 0 is before the first."""

    def __str__(self) -> str:
        return f"{self.epoch}.{self.offset}"


def parse_position(text: str) -> Position:
    """Parse a position. A well-formed position is accepted even if it is stale or in the future.

    Raises `MalformedPosition` for anything else.
    """
    match = _FORM.fullmatch(text)
    if match is None or int(match[2]) > OFFSET_MAX:
        raise MalformedPosition('A position has the form "<epoch>.<offset>", as in the id of a notification.')
    return Position(match[1], int(match[2]))


UNKNOWN = Position("unknown", 0)
"""Substitute for text that is no position. No history knows it, so a resume from it reports a gap, as for a stale one."""


def position_or_unknown(text: str) -> Position:
    """Parse the position that a client claims to hold; text that is not one becomes `UNKNOWN`, never an error.

    A 4xx would end an EventSource for good, and its id may come from another service that used this address before.
    """
    try:
        return parse_position(text)
    except MalformedPosition:
        return UNKNOWN
