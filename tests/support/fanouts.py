"""The ways of fan-out that the same tests are held against."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from app.settings import Settings

FANOUTS = ("stock",)


def fanout_settings(fanout: str) -> dict[str, Any]:
    """The setting that chooses it, once there is a choice."""
    return {"fanout": fanout} if "fanout" in {each.name for each in fields(Settings)} else {}
