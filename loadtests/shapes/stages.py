"""Base of the load shapes: a number of users for each stage of time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from locust import LoadTestShape

Stage = tuple[float, int, float]
"""A stage: its end (seconds from the start), the number of users, and the spawn rate (users per second)."""


class Stages(LoadTestShape):
    """Shape that runs its stages in order and then ends the test."""

    abstract = True
    stages: ClassVar[Sequence[Stage]] = ()

    def tick(self) -> tuple[int, float] | None:
        """Return users and spawn rate of the present stage; `None` after the last one."""
        run_s: float = self.get_run_time()  # type: ignore[no-untyped-call]
        return next(((users, rate) for until_s, users, rate in self.stages if run_s < until_s), None)
