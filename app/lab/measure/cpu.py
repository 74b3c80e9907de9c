"""CPU time of a process and all its descendants between two edges, read from outside, without asking them.

Truth is each process's CPU clock in nanoseconds (all threads; Linux). psutil's `cpu_times` ticks in 10 ms and gives
the split into user and system; where there is no such clock, its sum is all there is. A process that begins between
the edges counts whole. Of one that ends, what it used since the first edge is unknown: both are stated.

The server's companions, such as its clock process and its recorder, and what they start are not the measured server and
are left out by the mark that they carry: probes are answered in a long trial and not in an idle window, which would
charge them to the trial's arm.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import psutil

from app import clock
from app.core.companion import COMPANION
from app.core.trial import CpuUse
from app.core.units import MonotonicUs

ProcessKey = tuple[int, Hashable]
"""Process id and whose it is: an id alone may come to name another process.

Of a real process the second is psutil's own, equal to another where both began equally long after the machine did. Its
time of creation would not do: that is by the wall clock, and somebody who sets the clock makes all of them new.
"""


@dataclass(frozen=True, slots=True)
class ProcessUse:
    """What one process has used since it began."""

    clock_ns: int | None
    """Its CPU clock; `None` where the platform has none for other processes."""
    user_s: float
    system_s: float
    voluntary_switches: int
    involuntary_switches: int
    rss_bytes: int


@dataclass(frozen=True, slots=True)
class CpuSnapshot:
    """One edge: a process tree and the machine around it."""

    monotonic_us: MonotonicUs
    processes: Mapping[ProcessKey, ProcessUse]
    machine_busy_s: float
    """User, nice, system, irq and softirq seconds of all cores."""
    cpu_percent: float
    """psutil's own percentage since the edge before: the published study's meter, for context only."""


@dataclass(frozen=True, slots=True)
class CpuChange:
    """What was used between two edges, and which processes were not there at both."""

    use: CpuUse
    appeared: tuple[int, ...]
    """Ids of processes that began in between; counted whole."""
    ended: tuple[int, ...]
    """Ids of processes that ended in between; what they used is missing."""


class CpuSampler:
    """Takes edges of one process tree, companions left out."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        psutil.cpu_percent(interval=None)  # The first call has nothing to compare with and gives 0.0.

    def snapshot(self) -> CpuSnapshot:
        """The tree as it is now. A process that has gone away is left out; no process at all is an empty edge."""
        processes = _tree(self._pid)
        monotonic_us = clock.monotonic_us()
        # The clocks of all processes first, close together: they are what is compared.
        own_clocks_ns = [clock_ns(process.pid) for process in processes]
        uses: dict[ProcessKey, ProcessUse] = {}
        for process, own_ns in zip(processes, own_clocks_ns, strict=True):
            use = _use(process, own_ns)
            if use is not None:
                uses[process.pid, process] = use
        return CpuSnapshot(monotonic_us, uses, _machine_busy_s(), psutil.cpu_percent(interval=None))


def difference(before: CpuSnapshot, after: CpuSnapshot) -> CpuChange:
    """What the tree used from one edge to the other."""
    nothing = ProcessUse(0, 0.0, 0.0, 0, 0, 0)
    pairs = [(before.processes.get(key, nothing), use) for key, use in after.processes.items()]
    is_ns = bool(pairs) and all(None not in (old.clock_ns, new.clock_ns) for old, new in pairs)
    user_s = sum(new.user_s - old.user_s for old, new in pairs)
    system_s = sum(new.system_s - old.system_s for old, new in pairs)
    total_ns = sum((new.clock_ns or 0) - (old.clock_ns or 0) for old, new in pairs)
    use = CpuUse(
        wall_s=(after.monotonic_us - before.monotonic_us) / 1e6,
        user_s=user_s,
        system_s=system_s,
        total_s=total_ns / 1e9 if is_ns else user_s + system_s,
        total_is_ns=is_ns,
        machine_busy_s=after.machine_busy_s - before.machine_busy_s,
        cores=psutil.cpu_count() or 1,
        voluntary_switches=sum(new.voluntary_switches - old.voluntary_switches for old, new in pairs),
        involuntary_switches=sum(new.involuntary_switches - old.involuntary_switches for old, new in pairs),
        rss_bytes=sum(new.rss_bytes for _, new in pairs),
        cpu_percent_before=before.cpu_percent,
        cpu_percent_after=after.cpu_percent,
    )
    appeared = tuple(sorted(pid for pid, _ in after.processes.keys() - before.processes.keys()))
    ended = tuple(sorted(pid for pid, _ in before.processes.keys() - after.processes.keys()))
    return CpuChange(use, appeared, ended)


def _tree(pid: int) -> list[psutil.Process]:
    """The process and its descendants, without companions and theirs."""
    try:
        tree = [psutil.Process(pid)]
        for each in tree[0].children(recursive=True):  # Parents come before their children.
            if not _is_companion(each) and each.parent() in tree:
                tree.append(each)
    except psutil.NoSuchProcess:
        return []
    return tree


def _is_companion(process: psutil.Process) -> bool:
    try:
        return COMPANION in pairwise(process.cmdline())
    except psutil.Error:  # It is gone, or a zombie: the reading of its times leaves it out.
        return False


def clock_ns(pid: int) -> int | None:
    """The CPU clock of another process: `MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED)` of the Linux headers."""
    if sys.platform != "linux":
        return None
    try:
        return time.clock_gettime_ns((~pid << 3) | 2)
    except OSError:
        return None


def _use(process: psutil.Process, own_ns: int | None) -> ProcessUse | None:
    try:
        with process.oneshot():
            times, switches = process.cpu_times(), process.num_ctx_switches()
            memory = process.memory_info()
    except psutil.NoSuchProcess:  # A zombie, whose times nobody can read any more, is one too.
        return None
    return ProcessUse(own_ns, times.user, times.system, switches.voluntary, switches.involuntary, memory.rss)


def _machine_busy_s() -> float:
    times = psutil.cpu_times()
    names = ("user", "nice", "system", "irq", "softirq")
    return sum(float(getattr(times, name, 0.0)) for name in names)


def usable_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else psutil.cpu_count() or 1
