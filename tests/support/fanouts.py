"""The ways of fan-out that the same tests are held against."""

from __future__ import annotations

from typing import Any

import pytest

FANOUTS = ("direct", pytest.param("stock", marks=pytest.mark.slow))
"""The libraries' way is held to the same, in the runs that have more time."""


def fanout_settings(fanout: str) -> dict[str, Any]:
    """The setting that chooses it."""
    return {"fanout": fanout}
