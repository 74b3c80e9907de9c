"""Measurement of one window: CPU time of a server, and transfer of the swarm's result into a cell."""

from __future__ import annotations

from app.lab.measure.cpu import CpuChange, CpuSampler, difference
from app.tools.bench.record import WindowResult, quantile_ms
from app.tools.bench.server_under_test import ServerUnderTest
from app.tools.bench.session import BenchCell

DRAIN_S = 60.0
"""Time for published notifications to arrive before they count as lost."""

SHARED_MAX = 0.1
"""Maximum share of deliveries with unknown arrival. With more, no delay is reported, because the unknown ones are from
moments when the swarm lagged."""


def take_window(cell: BenchCell, result: WindowResult, behind: int, *, expected: int) -> None:
    """Fill `cell`.

    `behind`: subscribers that were not at the window's start offset; `expected`: number of deliveries.
    """
    is_known = result.shared <= SHARED_MAX * result.delivered
    cell.values["p50_ms"] = quantile_ms(result.delays, 0.50) if is_known else None
    cell.values["p99_ms"] = quantile_ms(result.delays, 0.99) if is_known else None
    cell.values["read_p99_ms"] = quantile_ms(result.read_delays, 0.99)
    cell.values["unstamped"], cell.values["stamp_shared"] = result.unstamped, result.shared
    cell.values["deliveries"] = result.delivered
    cell.values["reads"], cell.values["idle_traffic"] = result.reads, result.idle
    cell.values["swarm_busy"] = result.busy
    cell.values["lost"], cell.values["duplicates"] = result.lost, result.duplicates
    cell.values["out_of_order"], cell.values["disconnects"] = result.out_of_order, result.disconnects
    cell.problems += result.problems()
    if behind:
        cell.problems.append(f"{behind} did not stand at the window's beginning")
    if result.delivered != expected and not cell.problems:
        cell.problems.append(f"{result.delivered} deliveries instead of {expected}")


class CpuWindow:
    """Measures CPU time from construction to `close`."""

    def __init__(self, server: ServerUnderTest) -> None:
        pids = [server.pid] if server.redis_pid is None else [server.pid, server.redis_pid]
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
