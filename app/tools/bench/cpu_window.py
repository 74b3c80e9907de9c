"""What a server uses over a window, and apart from it its Redis, where it works over one."""

from __future__ import annotations

from app.lab.measure.cpu import CpuChange, CpuSampler, difference
from app.tools.bench.server_under_test import ServerUnderTest


class CpuWindow:
    """From when it is made until it is closed."""

    def __init__(self, subject: ServerUnderTest) -> None:
        pids = [subject.pid] if subject.redis_pid is None else [subject.pid, subject.redis_pid]
        self._samplers = [CpuSampler(pid) for pid in pids]
        self._before = [each.snapshot() for each in self._samplers]
        self._changes: list[CpuChange] = []

    def close(self) -> None:
        """The window ends here."""
        after = [each.snapshot() for each in self._samplers]
        self._changes = [difference(old, new) for old, new in zip(self._before, after, strict=True)]

    @property
    def server(self) -> CpuChange:
        """All processes of the server together; only of a window that was closed."""
        return self._changes[0]

    def values(self, deliveries: int) -> dict[str, float | None]:
        """Microseconds of CPU for each delivery."""
        names = ("cpu_us", "redis_cpu_us")
        return {
            name: change.use.total_s * 1e6 / max(1, deliveries)
            for name, change in zip(names, self._changes, strict=False)
        }
