"""Do this machine's clocks go steadily: is the wall clock being set, or the monotonic one bent.

Siar stamps with CLOCK_MONOTONIC, which no setting of the wall clock moves. But time synchronisation bends its rate, by
up to 500 millionths at the beginning, and the phones' clocks are related to it with 200 allowed (measurement.md, 1).
"""

from __future__ import annotations

from app.clock import Readings
from app.tools.doctor.finding import Finding, ok, warn
from app.tools.doctor.machine import Machine

NAME = "clock"

STEP_MS_MAX = 5.0
"""Steps from here on are seen in the figures of other programs; ours do not read the wall clock."""

SLEW_PPM_MAX = 100.0
"""Half of what the phones' clock procedure allows for both clocks together."""

WINDOW_US_MIN = 900_000
"""Shorter, and a reading's own error of some 10 us would count as a bend of more than 10 ppm."""

SLOW_SOURCES = ("hpet", "acpi_pm", "jiffies")
"""Clock sources whose reading takes microseconds, or is coarse."""

_SOURCE = "sys/devices/system/clocksource/clocksource0/current_clocksource"


def look(before: Readings, after: Readings, machine: Machine) -> Finding:
    """How the clocks went between two readings, at least `WINDOW_US_MIN` apart."""
    finding = judge(before, after)
    source = (machine.text(_SOURCE) or "").strip()
    if source in SLOW_SOURCES:
        return warn(NAME, "slow_source", source=source)
    return finding


def judge(before: Readings, after: Readings) -> Finding:
    """Likewise, by the readings alone."""
    went_us = after.monotonic_us - before.monotonic_us
    step_ms = ((after.wall_us - before.wall_us) - went_us) / 1000
    if abs(step_ms) > STEP_MS_MAX:
        return warn(NAME, "stepped", step_ms=f"{step_ms:+.0f}")
    if before.raw_us is not None and after.raw_us is not None:
        slew_ppm = (went_us - (after.raw_us - before.raw_us)) / went_us * 1e6
        if abs(slew_ppm) > SLEW_PPM_MAX:
            return warn(NAME, "bent", slew_ppm=f"{slew_ppm:+.0f}")
    return ok(NAME, "steady", seconds=f"{went_us / 1e6:.1f}")
