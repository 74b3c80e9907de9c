"""What the room is about from moment to moment, and what it was opened for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Phase(StrEnum):
    """What the room is about."""

    CLOSED = "closed"
    GATHERING = "gathering"
    COUNTDOWN = "countdown"
    RUNNING = "running"
    PAUSED = "paused"
    FINISHED = "finished"


UNDER_WAY = (Phase.COUNTDOWN, Phase.RUNNING, Phase.PAUSED)


@dataclass(frozen=True, slots=True)
class Experiment:
    """What the room was opened for."""

    run: str
    wanted_count: int
    """Phones that must be ready before it starts by itself."""
    length_s: float
    plan: Mapping[str, Any] = field(default_factory=dict)
    practice: bool = False
    """Nothing of it is kept."""
