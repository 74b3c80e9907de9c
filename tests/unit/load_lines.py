"""Trials under load for tests of what is said about them; nothing in them was measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.core.histogram import histogram_of
from app.lab.analysis.analyse import Analysis, analyse
from app.lab.analysis.validity.trial_warnings import void
from app.tools.load import trial_line
from app.tools.load.delays import Delays
from app.tools.load.result import LoadResult, load_result
from app.tools.load.trial_line import FloorLine, TrialLine
from tests.unit.support_run import RunMaker, a_plan

LATE = void("generator_late", lag_ms=61.0, limit_ms=50.0)
"""A reason why a generator did not prove itself."""


def a_line(**changes: Any) -> TrialLine:
    """A good trial: ten users of SSE, two notifications, 5 ms in the kernel's lane and 7 ms in the handler's."""
    delays_ms = changes.pop("delays_ms", [5.0] * 20)
    delays = Delays(
        histogram_of(1000 * each for each in delays_ms),
        histogram_of(1000 * each + 2000 for each in delays_ms),
        histogram_of(2000 for _ in delays_ms),
    )
    values: dict[str, Any] = {
        "trial": 1,
        "block": 0,
        "arm": "sse",
        "transport": "sse",
        "generator": "locust",
        "users": 10,
        "connected": 10,
        "attempts": 10,
        "failures": {},
        "connect_us": (1000,) * 10,
        "published": 4,
        "notifications": 2,
        "expected": 20,
        "lost": 0,
        "late": 0,
        "replayed": 0,
        "duplicates": 0,
        "out_of_order": 0,
        "disconnects": 0,
        "cpu_core_percent": 3.0,
        "source_lag_ms_p99": 0.2,
        "generator_cpu_share_max": 0.1,
        "generator_cpu_s": 0.2,
        "generator_lag_ms_p99": 1.0,
        "shared": 0,
        "is_believable": True,
        "void_codes": (),
        "delays": delays,
    }
    return TrialLine(**{**values, **changes})


def a_floor(**changes: Any) -> FloorLine:
    """A generator that proved itself."""
    values: dict[str, Any] = {
        "transport": "sse",
        "users": 10,
        "rate_hz": 1.0,
        "connected": 10,
        "notifications": 5,
        "lost": 0,
        "delay_ms_p50": 0.3,
        "delay_ms_p99": 0.9,
        "self_ms_p50": 0.1,
        "generator_cpu_share_max": 0.05,
        "generator_lag_ms_p99": 1.0,
        "warnings": (),
    }
    return FloorLine(**{**values, **changes})


def a_result(
    folder: Path,
    lines: Sequence[TrialLine | FloorLine],
    *,
    gates: tuple[str, ...] = ("lost==0",),
    shape: str = "levels",
) -> LoadResult:
    """What a run of these trials and floors comes to, that went to its end."""
    trial_line.append(folder, {"kind": "load", "schema": 1, "shape": shape, "gates": list(gates)})
    for line in lines:
        trial_line.append(folder, line.to_json())
    return load_result(an_analysis(), folder)


def an_analysis() -> Analysis:
    """Of a small run that is complete, for what looks at no more of it."""
    plan = a_plan(blocks=1, client_counts=(2,), notifications=5)
    return analyse(RunMaker(plan=plan).run())
