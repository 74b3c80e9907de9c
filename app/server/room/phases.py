"""Phases of the room, and the experiment that it was opened for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Phase(StrEnum):
    """Current phase of the room."""

    CLOSED = "closed"
    GATHERING = "gathering"
    COUNTDOWN = "countdown"
    RUNNING = "running"
    PAUSED = "paused"
    FINISHED = "finished"


UNDER_WAY = (Phase.COUNTDOWN, Phase.RUNNING, Phase.PAUSED)


@dataclass(frozen=True, slots=True)
class Experiment:
    """The experiment that the room was opened for."""

    run: str
    wanted_count: int
    """Ready phones needed for an automatic start."""
    length_s: float
    plan: Mapping[str, Any] = field(default_factory=dict)
    practice: bool = False
    """True if nothing of it is stored."""
