"""Code that the transports share: how a client names its topics, and the size of replay writes."""

from __future__ import annotations

from collections.abc import Iterable

from app.core.errors import Malformed
from app.core.wire import topic_is_well_formed
from app.i18n import refusal

REPLAY_WRITE_BYTES = 65_536
"""Approximate size of one write during a replay: large enough for few system calls, small enough to bound memory."""


def parse_topics(topics: Iterable[object], *, count_max: int) -> frozenset[str] | None:
    """Return the set of topics that a client subscribes to, or `None` for all if it names none. Raises `Malformed`."""
    wanted = list(topics)
    if not wanted:
        return None
    if len(wanted) > count_max:
        raise Malformed(refusal("too_many_topics", count=count_max))
    for topic in wanted:
        if not isinstance(topic, str) or not topic_is_well_formed(topic):
            raise Malformed(refusal("topic_malformed"))
    return frozenset(str(topic) for topic in wanted)
