"""The ways of fan-out that the same tests are held against."""

from __future__ import annotations

from typing import Any

import pytest

FANOUTS = ("direct", pytest.param("stock", marks=pytest.mark.slow))
"""The libraries' way is held to the same, in the runs that have more time."""


ONE_BY_ONE = "one by one"
"""As directly, without the kernel's way of writing to many by one call."""

WAYS_OF_WRITING = (*FANOUTS, pytest.param(ONE_BY_ONE, marks=pytest.mark.slow))


def fanout_settings(way: str) -> dict[str, Any]:
    """The settings that choose it."""
    return {"fanout": "direct", "io_uring": "false"} if way == ONE_BY_ONE else {"fanout": way}
