"""The ways of fan-out that the same tests are held against."""

from __future__ import annotations

from typing import Any

FANOUTS = ("direct", "stock")


def fanout_settings(fanout: str) -> dict[str, Any]:
    """The setting that chooses it."""
    return {"fanout": fanout}
