"""CPU time of a server over a window, and separately of its Redis, if it uses one."""

from __future__ import annotations

from app.lab.measure.cpu import CpuChange, CpuSampler, difference
from app.tools.bench.server_under_test import ServerUnderTest


class CpuWindow:
    """Measures CPU time from construction to `close`."""

    def __init__(self, subject: ServerUnderTest) -> None:
        pids = [subject.pid] if subject.redis_pid is None else [subject.pid, subject.redis_pid]
        self._samplers = [CpuSampler(pid) for pid in pids]
        self._before = [each.snapshot() for each in self._samplers]
        self._changes: list[CpuChange] = []

    def close(self) -> None:
        """End the window."""
        after = [each.snapshot() for each in self._samplers]
        self._changes = [difference(old, new) for old, new in zip(self._before, after, strict=True)]

    @property
    def server(self) -> CpuChange:
        """CPU time of all processes of the server; available after `close`."""
        return self._changes[0]

    def values(self, deliveries: int) -> dict[str, float | None]:
        """Return microseconds of CPU per delivery."""
        names = ("cpu_us", "redis_cpu_us")
        return {
            name: change.use.total_s * 1e6 / max(1, deliveries)
            for name, change in zip(names, self._changes, strict=False)
        }
