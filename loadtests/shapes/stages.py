"""What the shapes share: users by time, in stages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from locust import LoadTestShape

Stage = tuple[float, int, float]
"""Until when (seconds from the start), how many users, how many of them per second."""


class Stages(LoadTestShape):
    """One stage after the other, then the end."""

    abstract = True
    stages: ClassVar[Sequence[Stage]] = ()

    def tick(self) -> tuple[int, float] | None:
        """Users and spawn rate now; `None` behind the last stage."""
        run_s: float = self.get_run_time()  # type: ignore[no-untyped-call]
        return next(((users, rate) for until_s, users, rate in self.stages if run_s < until_s), None)
