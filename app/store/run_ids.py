"""Ids and start times of new runs."""

from __future__ import annotations

import secrets

from app import clock


def new_run_id() -> str:
    """Create an id that sorts by time and differs for two runs in the same second: `2026-11-21T10-40-07-a1b2`."""
    return f"{clock.timestamp(clock.now_us())}-{secrets.token_hex(2)}"


def utc_now() -> str:
    """Return the present moment as ISO 8601, UTC, whole seconds."""
    date, _, time = clock.timestamp(clock.now_us()).partition("T")
    return f"{date}T{time.replace('-', ':')}Z"
