"""Names and limits of what goes over the wire, in one place for server, clients and tests.

A limit is a promise to both sides: what is within it is served, what is beyond it is refused in words.
"""

import re
from typing import Literal, get_args

EVENT_NOTIFICATION = "notification"
"""The event's name, in SSE's `event:` field and as the Socket.IO event."""

EVENT_GAP = "gap"
"""Says that history no longer reaches back to where the client left off."""

EVENT_SERVICE = "service"
"""Says that nothing can be published for now, `{"state": "away"}`, or again, `{"state": "back"}`; it has no id."""

DEFAULT_TOPIC = "default"

TOPIC_PATTERN = re.compile(r"[A-Za-z0-9._~-]{1,64}")
"""Topics are free text of URL-unreserved characters, so that they need no escaping anywhere."""

TRIAL_TOPIC_PREFIX = "trial."
"""Topics of trials begin with it."""

START_AFTER_MS_MAX = 60_000
"""How far ahead a trial may be ordered."""

TITLE_CHARS_MAX = 200
BODY_CHARS_MAX = 20_000
DATA_BYTES_MAX = 32_768
"""The encoded `data` object."""

CONTENT_BYTES_MAX = 65_000
"""Title, body and data together, as JSON in UTF-8. With what stands around them an event stays below 64 KiB on every
transport, which is what common readers hold (Go's `bufio.Scanner`); a body of three bytes a character fits."""

DELIVERIES_BODY_BYTES_MAX = 32_768
"""A batch of measured arrivals; a page splits larger ones."""

SAMPLES_PER_BATCH_MAX = 200

USER_AGENT = "siar-builtin/1 (simulated)"
"""By which a built-in client, of Locust's too, labels itself."""

OFFSET_MAX = 2**53 - 1
"""JavaScript's largest exact integer: offsets must survive JSON in a browser."""

TRANSPORT_SSE = "sse"
TRANSPORT_SOCKETIO = "socketio"
Transport = Literal["sse", "socketio"]
"""What the wire may name: the one list of transports (docs/transports.md)."""
TRANSPORTS: tuple[str, ...] = get_args(Transport)


def topic_is_well_formed(topic: str) -> bool:
    """Whether `topic` may name a topic; an unseen topic is as good as any other."""
    return TOPIC_PATTERN.fullmatch(topic) is not None


def is_trial_topic(topic: str) -> bool:
    """Whether `topic` names a trial."""
    return topic.startswith(TRIAL_TOPIC_PREFIX)
