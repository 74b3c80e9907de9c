"""CPU use of other programs, by name, so that a person who measures knows what to close."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import psutil

from app import clock
from app.core.units import MonotonicUs

SHARE_SHOWN_MIN = 0.10
"""Least use of one core, from 0 to 1, at which a program is named."""

NAME_CHARS_MAX = 30


@dataclass(frozen=True, slots=True)
class OtherProgram:
    """A program that is not part of the measurement, with its use of one core (0 to the number of cores)."""

    name: str
    share: float


@dataclass(slots=True)
class OtherPrograms:
    """Finds the program that used most CPU since the previous call; this process and its children are left out.

    One call reads the CPU time of every process, which takes some 20 ms: it belongs between two trials.
    """

    _cpu_s: dict[tuple[int, float], float] = field(default_factory=dict)
    """CPU time by process id and start time, at the previous call."""
    _at_us: MonotonicUs | None = None

    def busiest(self) -> OtherProgram | None:
        """Return the busiest other program; `None` at the first call, or below `SHARE_SHOWN_MIN`."""
        own = _own_processes()
        before, at_us, now_us = self._cpu_s, self._at_us, clock.monotonic_us()
        found: dict[tuple[int, float], float] = {}
        used_s: dict[str, float] = {}
        for process in psutil.process_iter(("pid", "name", "create_time", "cpu_times")):
            times = process.info["cpu_times"]
            if times is None or process.info["pid"] in own:
                continue
            key = (process.info["pid"], process.info["create_time"])
            found[key] = times.user + times.system
            if key in before:
                name = (process.info["name"] or "")[:NAME_CHARS_MAX]
                used_s[name] = used_s.get(name, 0.0) + found[key] - before[key]
        self._cpu_s, self._at_us = found, now_us
        if at_us is None or now_us <= at_us or not used_s:
            return None
        name = max(used_s, key=lambda each: used_s[each])
        share = used_s[name] * 1e6 / (now_us - at_us)
        return OtherProgram(name, share) if share >= SHARE_SHOWN_MIN else None


def _own_processes() -> set[int]:
    """Return the ids of this process and of all below it: server, clients and their helpers."""
    try:
        children = psutil.Process().children(recursive=True)
    except psutil.Error:  # A child that ends meanwhile.
        children = []
    return {os.getpid(), *(each.pid for each in children)}
