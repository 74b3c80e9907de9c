"""Path prefix under which a proxy publishes the service, as in `/siar`, and the rules for it."""

from __future__ import annotations

import re

OWN_SEGMENTS = frozenset(
    {"admin", "api", "ca.crt", "events", "healthz", "metrics", "readyz"}
    | {"results", "screen", "selftest", "socket.io", "static", "version"}
)
"""First segments of the service's own paths. A prefix that begins with one would be ambiguous."""

_PREFIX = re.compile(r"(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+")
"""Segments that need no escaping anywhere; a leading dot is not allowed, since it would permit `..`."""

CHARS_MAX = 200


def clean_prefix(text: str) -> str | None:
    """Return the prefix without a final slash, empty for a host's root; `None` if `text` is not a valid prefix."""
    prefix = text.rstrip("/")
    if not prefix:
        return ""
    is_path = len(prefix) <= CHARS_MAX and _PREFIX.fullmatch(prefix) is not None
    return prefix if is_path and prefix.split("/")[1] not in OWN_SEGMENTS else None
