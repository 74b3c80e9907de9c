"""How runs are named and dated."""

from __future__ import annotations

import secrets

from app import clock


def new_run_id() -> str:
    """An id that sorts by time and that two runs in one second do not share: `2026-11-21T10-40-07-a1b2`."""
    return f"{clock.timestamp(clock.now_us())}-{secrets.token_hex(2)}"


def utc_now() -> str:
    """Now as ISO 8601, UTC, whole seconds."""
    date, _, time = clock.timestamp(clock.now_us()).partition("T")
    return f"{date}T{time.replace('-', ':')}Z"
