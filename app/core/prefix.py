"""The path below which a proxy shows the service, as in `/siar`: what such a path may be."""

from __future__ import annotations

import re

OWN_SEGMENTS = frozenset(
    {"admin", "api", "ca.crt", "events", "healthz", "metrics", "readyz"}
    | {"results", "screen", "selftest", "socket.io", "static", "version"}
)
"""First segments of the service's own paths. A prefix that begins with one could not be told from it."""

_PREFIX = re.compile(r"(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+")
"""Segments that need no escape anywhere; a leading dot would let `..` in."""

CHARS_MAX = 200


def clean_prefix(text: str) -> str | None:
    """The prefix without a slash at its end, empty for the root of a host; `None` for what can be none."""
    prefix = text.rstrip("/")
    if not prefix:
        return ""
    is_path = len(prefix) <= CHARS_MAX and _PREFIX.fullmatch(prefix) is not None
    return prefix if is_path and prefix.split("/")[1] not in OWN_SEGMENTS else None
