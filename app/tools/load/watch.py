"""CPU of the generator and state of the machine during a trial, per second, observed from outside.

A generator that lacks CPU for one second of twenty distorts the delays in that second, although its mean is low. So
each second is judged by itself. The observing thread runs in the runner's process, which is otherwise idle.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from app import clock
from app.tools.load.cpu_isolation import cores_of

PERIOD_S = 1.0

_NETSTAT = Path("/proc/net/netstat")
RECEIVE_TROUBLES = ("ListenOverflows", "ListenDrops", "TCPRcvCollapsed", "TCPRcvQDrop", "TCPBacklogDrop")
"""TCP counters of Linux in this network namespace: each means that data arrived and there was no room for it."""


@dataclass(frozen=True, slots=True)
class Observations:
    """Observations of one window."""

    cpu_share_max: float | None
    """The largest share of its available CPU that the generator used in any one second: of a core for one process, or
    of shared cores for all processes confined to them. `None` if no clock can be read."""
    cpu_s: float | None
    """CPU time of all processes in the window."""
    steal_share: float
    """Share of the machine's time that its host gave to others."""
    receive_troubles: dict[str, int]
    """Increases of counters."""
    is_crowded: bool = False
    """True if the largest share is that of several processes together, so that one more process would not help."""


@dataclass(frozen=True, slots=True, order=True)
class Utilisation:
    """Utilisation of cores."""

    share: float
    processes: int
    """Number of processes that the share belongs to."""


class Watch:
    """Observes one window, from construction to `end`."""

    def __init__(self, pids: Sequence[int]) -> None:
        self._pids = tuple(pids)
        self._stopping = threading.Event()
        self._highest: Utilisation | None = None
        self._cores = [frozenset(cores_of([pid])) for pid in self._pids]
        self._first = self._last = self._read()
        self._times = psutil.cpu_times()
        self._counters = receive_counters()
        self._thread = threading.Thread(target=self._observe, name="siar-load-watch", daemon=True)
        self._thread.start()

    def end(self) -> Observations:
        """End the window and return the observations."""
        self._stopping.set()
        self._thread.join()
        # A remainder shorter than half a second is too short to be judged as a second.
        self._record(at_least_us=500_000)
        at_end = self._read()
        before, after = self._times, psutil.cpu_times()
        total_s = sum(after) - sum(before)
        counters = receive_counters()
        return Observations(
            cpu_share_max=self._highest.share if self._highest else None,
            cpu_s=None if None in (*self._first[1], *at_end[1]) else _total_s(self._first, at_end),
            steal_share=max(0.0, _steal(after) - _steal(before)) / total_s if total_s > 0 else 0.0,
            is_crowded=self._highest is not None and self._highest.processes > 1,
            receive_troubles={
                name: risen for name, count in counters.items() if (risen := count - self._counters[name])
            },
        )

    def _observe(self) -> None:
        while not self._stopping.wait(PERIOD_S):
            self._record(at_least_us=round(PERIOD_S * 1e6))

    def _record(self, *, at_least_us: int) -> None:
        before, after = self._last, self._read()
        if after[0] - before[0] < at_least_us:
            return
        self._last = after
        wall_us = after[0] - before[0]
        shares = [
            (cores, (new_ns - old_ns) / 1000 / wall_us)
            for cores, old_ns, new_ns in zip(self._cores, before[1], after[1], strict=True)
            if old_ns is not None and new_ns is not None
        ]
        self._highest = max(filter(None, (self._highest, highest_utilisation(shares))), default=None)

    def _read(self) -> tuple[int, list[int | None]]:
        return clock.monotonic_us(), [cpu_ns(pid) for pid in self._pids]


def highest_utilisation(shares: Sequence[tuple[frozenset[int], float]]) -> Utilisation | None:
    """Return the highest utilisation of any set of cores by processes confined to it; `None` without processes.

    `shares`: for each process, the cores that it may use, and its use as a share of one core. A single process can use
    one core only, however many it may choose from.
    """
    found = [Utilisation(share, 1) for _cores, share in shares]
    for group in {cores for cores, _share in shares}:
        confined = [share for cores, share in shares if cores <= group]
        if len(confined) > len(group):
            found.append(Utilisation(sum(confined) / len(group), len(confined)))
    return max(found, default=None)


def receive_counters() -> dict[str, int]:
    """Return the kernel's counters of dropped and collapsed data; empty if it has none."""
    try:
        lines = _NETSTAT.read_text(encoding="ascii").splitlines()
    except OSError:
        return {}
    found: dict[str, int] = {}
    for names, values in zip(lines[::2], lines[1::2], strict=False):
        found |= {
            name: int(value)
            for name, value in zip(names.split()[1:], values.split()[1:], strict=False)
            if name in RECEIVE_TROUBLES
        }
    return found


def _total_s(first: tuple[int, list[int | None]], last: tuple[int, list[int | None]]) -> float:
    return sum((new or 0) - (old or 0) for old, new in zip(first[1], last[1], strict=True)) / 1e9


def cpu_ns(pid: int) -> int | None:
    """Return the CPU clock of another process, all threads: `MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED)`."""
    try:
        return time.clock_gettime_ns((~pid << 3) | 2)
    except OSError:
        return None


def _steal(times: object) -> float:
    return float(getattr(times, "steal", 0.0))
