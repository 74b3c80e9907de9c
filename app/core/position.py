"""A position in the one total order of notifications: `<epoch>.<offset>`, the same on every transport.

The epoch changes when history was lost, so that an offset of an old life is never taken for one of the new.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.core.errors import MalformedPosition
from app.core.wire import OFFSET_MAX

_FORM = re.compile(r"([A-Za-z0-9_-]{1,32})\.(0|[1-9][0-9]{0,15})")


@dataclass(frozen=True, slots=True)
class Position:
    """Everything up to and including `offset` has been seen."""

    epoch: str
    """Names one unbroken life of a history."""

    offset: int
    """Rises by one for each notification over all topics; 0 stands before the first."""

    def __str__(self) -> str:
        return f"{self.epoch}.{self.offset}"


def parse_position(text: str) -> Position:
    """The position that `text` writes; well-formed but stale or future ones are positions too.

    Raises `MalformedPosition` for anything else.
    """
    match = _FORM.fullmatch(text)
    if match is None or int(match[2]) > OFFSET_MAX:
        raise MalformedPosition('A position has the form "<epoch>.<offset>", as in the id of a notification.')
    return Position(match[1], int(match[2]))


UNKNOWN = Position("unknown", 0)
"""Stands for text that is no position: no history knows it, so it is answered with a gap like any stale one."""


def position_or_unknown(text: str) -> Position:
    """The position that a client says it holds; what is not one is `UNKNOWN`, never an error.

    A 4xx would end an EventSource for good, and its id may come from whatever served this address before.
    """
    try:
        return parse_position(text)
    except MalformedPosition:
        return UNKNOWN
