"""What the transports have in common: how a subscription is asked for."""

from __future__ import annotations

from collections.abc import Iterable

from app.core.errors import Malformed
from app.core.wire import topic_is_well_formed
from app.i18n import refusal

REPLAY_WRITE_BYTES = 65_536
"""What was missed goes out in writes of about this size: few calls, and little memory for each client."""


def parse_topics(topics: Iterable[object], *, count_max: int) -> frozenset[str] | None:
    """The filter that a client asked for; none named means all. Raises `Malformed`."""
    wanted = list(topics)
    if not wanted:
        return None
    if len(wanted) > count_max:
        raise Malformed(refusal("too_many_topics", count=count_max))
    for topic in wanted:
        if not isinstance(topic, str) or not topic_is_well_formed(topic):
            raise Malformed(refusal("topic_malformed"))
    return frozenset(str(topic) for topic in wanted)
