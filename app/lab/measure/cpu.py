"""CPU time of a process tree between two edges, read from outside without a request to its processes.

The reference is each process's CPU clock in nanoseconds (all threads; Linux). psutil's `cpu_times` counts in ticks of
10 ms and gives the split into user and system time; without CPU clocks, the sum of the two is used instead. A process that
begins between the edges is counted in full. For one that ends, the use since the first edge is unknown. Both kinds are
reported.

The server's companion processes, such as its clock process and its recorder, are not the measured server. They and their
descendants are left out, recognised by a mark on their command line: clock probes are answered in a long trial and not in
an idle window, so that their CPU would be charged to the trial's arm.
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
"""Process id and identity of the process, since an id may be reused for another process.

The identity of a real process is psutil's `Process`; two are equal if they began equally long after boot. The creation
time is no identity: it is by the wall clock, and setting that clock would change it for all processes.
"""


@dataclass(frozen=True, slots=True)
class ProcessUse:
    """The resources that one process has used since it began."""

    clock_ns: int | None
    """The process's CPU clock; `None` on platforms without CPU clocks of other processes."""
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
    """psutil's percentage since the edge before: the published study's meter, for context only."""


@dataclass(frozen=True, slots=True)
class CpuChange:
    """The CPU use between two edges, and the processes that existed at one edge only."""

    use: CpuUse
    appeared: tuple[int, ...]
    """Ids of processes that began in between; they are counted in full."""
    ended: tuple[int, ...]
    """Ids of processes that ended in between; their use is missing."""


class CpuSampler:
    """Sampler of one process tree, without companion processes."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        # The first call has no predecessor to compare with and returns 0.0.
        psutil.cpu_percent(interval=None)

    def snapshot(self) -> CpuSnapshot:
        """Return the tree as it is now, without processes that have ended; the edge is empty if all have."""
        processes = _tree(self._pid)
        monotonic_us = clock.monotonic_us()
        # The CPU clocks are read first and close together, since they are what is compared.
        own_clocks_ns = [clock_ns(process.pid) for process in processes]
        uses: dict[ProcessKey, ProcessUse] = {}
        for process, own_ns in zip(processes, own_clocks_ns, strict=True):
            use = _use(process, own_ns)
            if use is not None:
                uses[process.pid, process] = use
        return CpuSnapshot(monotonic_us, uses, _machine_busy_s(), psutil.cpu_percent(interval=None))


def difference(before: CpuSnapshot, after: CpuSnapshot) -> CpuChange:
    """Return the CPU use of the tree from one edge to the other."""
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
    """Return the process and its descendants, without companion processes and their descendants."""
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
    except psutil.Error:  # The process has ended or is a zombie, and `_use` leaves it out.
        return False


def clock_ns(pid: int) -> int | None:
    """Read the CPU clock of another process: `MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED)` of the Linux headers."""
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
    except psutil.NoSuchProcess:  # psutil raises it for zombies too, whose times cannot be read.
        return None
    return ProcessUse(own_ns, times.user, times.system, switches.voluntary, switches.involuntary, memory.rss)


def _machine_busy_s() -> float:
    times = psutil.cpu_times()
    names = ("user", "nice", "system", "irq", "softirq")
    return sum(float(getattr(times, name, 0.0)) for name in names)


def usable_cores() -> int:
    """Return the number of cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else psutil.cpu_count() or 1
