"""CPU time per second between a trial's two edges, read by a background thread.

A reading takes some 0.1 ms every second: one CPU clock per process and one line of the kernel for the machine. It makes
no request to the server. Processes that begin after the first edge are not included; the difference of the edges has them.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import psutil

from app import clock
from app.core.timeline import CpuSecond
from app.core.units import MonotonicUs
from app.lab.measure.cpu import CpuSnapshot, clock_ns

PERIOD_US = 1_000_000

SHORTEST_S = 0.5
"""Shortest interval that is kept, since ticks of 10 ms resolve a shorter one too coarsely.

The last interval may be shorter, and so may one after a late reading. If all are shorter, the first is kept.
"""


@contextlib.contextmanager
def cpu_seconds(edge: CpuSnapshot | None) -> Iterator[list[CpuSecond]]:
    """Collect the seconds of the `with` block for the processes of an edge; the list is filled when the block ends.

    Without an edge it stays empty.
    """
    found: list[CpuSecond] = []
    if edge is None:
        yield found
        return
    reader = CpuSeconds(pid for pid, _ in edge.processes)
    try:
        yield found
    finally:
        found += reader.stop()


@dataclass(frozen=True, slots=True)
class _Reading:
    monotonic_us: MonotonicUs
    clocks_ns: dict[int, int]
    kernel_s: float
    busy_s: float


class CpuSeconds:
    """A reader of CPU time, once a second from its creation until `stop`."""

    def __init__(self, pids: Iterable[int]) -> None:
        self._pids = tuple(pids)
        self._ended = threading.Event()
        self._readings = [self._read()]
        self._thread = threading.Thread(target=self._run, name="siar-cpu-seconds", daemon=True)
        self._thread.start()

    def stop(self) -> tuple[CpuSecond, ...]:
        """Take the last reading and return all seconds."""
        self._ended.set()
        self._thread.join()
        self._readings.append(self._read())
        found = [
            _second(place, before, after)
            for place, (before, after) in enumerate(zip(self._readings, self._readings[1:], strict=False))
        ]
        return tuple(each for each in found if each.wall_s >= SHORTEST_S) or tuple(found[:1])

    def _run(self) -> None:
        start_us = self._readings[0].monotonic_us
        while True:
            # The next reading follows the schedule and not the last wake-up, so that lateness does not accumulate.
            next_us = start_us + len(self._readings) * PERIOD_US
            if self._ended.wait(max(0, next_us - clock.monotonic_us()) / 1e6):
                return
            self._readings.append(self._read())

    def _read(self) -> _Reading:
        clocks_ns = {pid: own_ns for pid in self._pids if (own_ns := clock_ns(pid)) is not None}
        monotonic_us = clock.monotonic_us()
        times = psutil.cpu_times()
        kernel_s = sum(float(getattr(times, name, 0.0)) for name in ("system", "irq", "softirq"))
        return _Reading(
            monotonic_us, clocks_ns, kernel_s, kernel_s + times.user + getattr(times, "nice", 0.0)
        )


def _second(place: int, before: _Reading, after: _Reading) -> CpuSecond:
    """Return the second between two readings, without processes that ended in between."""
    both = after.clocks_ns.keys() & before.clocks_ns.keys()
    used_ns = sum(after.clocks_ns[pid] - before.clocks_ns[pid] for pid in both)
    return CpuSecond(
        second=place,
        wall_s=(after.monotonic_us - before.monotonic_us) / 1e6,
        process_s=used_ns / 1e9 if both else None,
        kernel_s=after.kernel_s - before.kernel_s,
        busy_s=after.busy_s - before.busy_s,
    )
