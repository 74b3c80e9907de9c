"""Fan-out paths that the same tests run on."""

from __future__ import annotations

from typing import Any

import pytest

FANOUTS = ("direct", pytest.param("stock", marks=pytest.mark.slow))
"""The stock path is tested in the longer runs only."""


ONE_BY_ONE = "one by one"
"""The direct path with one `send` per connection, without io_uring."""

WAYS_OF_WRITING = (*FANOUTS, pytest.param(ONE_BY_ONE, marks=pytest.mark.slow))


def fanout_settings(way: str) -> dict[str, Any]:
    """Return the settings that select the path."""
    return {"fanout": "direct", "io_uring": "false"} if way == ONE_BY_ONE else {"fanout": way}
