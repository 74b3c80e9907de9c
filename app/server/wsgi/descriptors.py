"""How many connections the kernel lets this process have: each is an open file."""

from __future__ import annotations

import contextlib
import resource

SPARE = 500
"""For requests under way (a connection counts twice while it is taken over), the log, the spool, a history."""


def raise_limit() -> int:
    """Take as many open files as the system lets this user have; answers how many that are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):  # macOS says "unlimited" and refuses it.
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft


def room_for(wanted: int) -> int:
    """How many connections fit, at most `wanted`: beyond that they are refused in words, and not by a failing accept."""
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(1, wanted if soft == resource.RLIM_INFINITY else min(wanted, soft - SPARE))
