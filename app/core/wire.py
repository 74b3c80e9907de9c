"""Names and limits of the wire protocol, shared by server, clients and tests.

A limit is a promise to both sides: input within it is served; input beyond it is refused with a sentence.
"""

import re
from typing import Final, Literal, get_args

EVENT_NOTIFICATION = "notification"
"""Name of a notification's event, in SSE's `event:` field and as the Socket.IO event."""

EVENT_GAP = "gap"
"""Event that reports that history no longer reaches back to the client's position."""

EVENT_SERVICE = "service"
"""Event without id that reports whether publishing is possible: `{"state": "away"}` (not now), `{"state": "back"}`."""

DEFAULT_TOPIC = "default"

TOPIC_PATTERN = re.compile(r"[A-Za-z0-9._~-]{1,64}")
"""A topic is any text of URL-unreserved characters, so that it needs no escaping anywhere."""

TRIAL_TOPIC_PREFIX = "trial."
"""Prefix of the topics of trials."""

START_AFTER_MS_MAX = 60_000
"""Greatest time between a trial's request and its start."""

TITLE_CHARS_MAX = 200
BODY_CHARS_MAX = 20_000
DATA_BYTES_MAX = 32_768
"""Size limit of the encoded `data` object."""

CONTENT_BYTES_MAX = 65_000
"""Size limit of title, body and data together, as JSON in UTF-8. With its framing an event stays below 64 KiB on every
transport, the buffer of common readers (Go's `bufio.Scanner`). A body of three bytes per character fits."""

DELIVERIES_BODY_BYTES_MAX = 32_768
"""Size limit of a posted batch of measured arrivals; a page splits larger ones."""

SAMPLES_PER_BATCH_MAX = 200

USER_AGENT = "siar-builtin/1 (simulated)"
"""User agent by which a built-in client, including Locust's, labels itself as simulated."""

OFFSET_MAX = 2**53 - 1
"""JavaScript's largest exact integer, because offsets must survive JSON in a browser."""

TRANSPORT_SSE: Final = "sse"
TRANSPORT_SOCKETIO: Final = "socketio"
Transport = Literal["sse", "socketio"]
"""Transport names on the wire. Titles and clients are in `core/transports.py`, the server's part in `server/registry.py`."""
TRANSPORTS: tuple[str, ...] = get_args(Transport)


def topic_is_well_formed(topic: str) -> bool:
    """Return True if `topic` is a valid topic name; topics need not exist before they are used."""
    return TOPIC_PATTERN.fullmatch(topic) is not None


def is_trial_topic(topic: str) -> bool:
    """Return True if `topic` belongs to a trial."""
    return topic.startswith(TRIAL_TOPIC_PREFIX)
