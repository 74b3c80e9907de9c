"""The limit on open files, which bounds the connections of this process."""

from __future__ import annotations

import contextlib
import resource

SPARE = 500
"""Descriptors for requests in progress (a connection counts twice while it is detached), log, spool and history."""


def raise_limit() -> int:
    """Raise the limit on open files as far as the system permits; return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):  # macOS reports "unlimited" and refuses to set it.
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft


def room_for(wanted: int) -> int:
    """Return how many connections fit, at most `wanted`, so that no accept fails for lack of descriptors."""
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(1, wanted if soft == resource.RLIM_INFINITY else min(wanted, soft - SPARE))
