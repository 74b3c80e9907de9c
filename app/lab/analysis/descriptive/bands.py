"""Live figures of a run for the big screen: median and quartiles of delay by arm and count of clients, no verdict."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from app.core.plan.scenario import Plan, arm_plan
from app.core.trial import CpuUse, TrialRecord
from app.lab.analysis.columns import columns_of
from app.lab.analysis.metrics.cpu import deliveries_in_window, per_delivery_us
from app.lab.analysis.metrics.trial_metrics import measure
from app.lab.analysis.statistics.quantile import known, median, quantile_of_ascending

BlockName = tuple[int, int]
"""(clients, block)."""


@dataclass(frozen=True, slots=True)
class BandCell:
    """One arm at one count of clients, from the valid blocks so far."""

    delay_ms_p50: float | None
    """Median of all samples together, which is descriptive."""
    delay_ms_p25: float | None
    delay_ms_p75: float | None
    cpu_us_per_delivery: float | None
    """Median of the trials' figures."""
    delivered: int
    late: int
    lost: int
    asleep: int
    """Phones that slept during a trial, counted in all blocks, since sleep makes a block invalid."""
    blocks: int


@dataclass(frozen=True, slots=True)
class _Trial:
    """The values of a trial that are kept."""

    arm: str
    delays_ms: tuple[float, ...]
    cpu: CpuUse | None
    in_window: int
    """Deliveries in the window of `cpu`; the idle window of the block, for the net figure, may come after the trial."""
    delivered: int
    late: int
    lost: int
    asleep: int


@dataclass(slots=True)
class Bands:
    """The figures of the trials so far, added one trial at a time."""

    plan: Plan
    _trials: dict[BlockName, list[_Trial]] = field(default_factory=dict)
    _idle: dict[BlockName, CpuUse | None] = field(default_factory=dict)
    _void: set[BlockName] = field(default_factory=set)

    def add(self, record: TrialRecord, *, is_void: bool) -> None:
        """Add a trial or an idle window, in any order."""
        name = (record.spec.clients, record.spec.block)
        if is_void:
            self._void.add(name)
        if record.spec.idle:
            self._idle[name] = record.cpu
            return
        metrics = measure(record, arm_plan(self.plan, record.spec.arm))
        columns = columns_of(record.deliveries)
        self._trials.setdefault(name, []).append(
            _Trial(
                arm=record.spec.arm.name,
                delays_ms=tuple(columns.delay_ms[columns.is_sample].tolist()),
                cpu=record.cpu,
                in_window=deliveries_in_window(record),
                delivered=metrics.delivered,
                late=metrics.late,
                lost=metrics.lost,
                asleep=sum(each.asleep_ms > 0 for each in record.lifecycle_reports),
            )
        )

    def cells(self) -> dict[str, dict[str, dict[str, float | int | None]]]:
        """Return the cells by arm, then by count of clients as text: the `results` of `PUT /api/room/progress`."""
        found: dict[str, dict[str, dict[str, float | int | None]]] = {}
        for arm in self.plan.arms:
            for clients in sorted({clients for clients, _ in self._trials}):
                found.setdefault(arm.name, {})[str(clients)] = asdict(self._cell(arm.name, clients))
        return found

    def _cell(self, arm: str, clients: int) -> BandCell:
        blocks = {name: trials for name, trials in self._trials.items() if name[0] == clients}
        every = [each for trials in blocks.values() for each in trials if each.arm == arm]
        valid = [
            (name, each)
            for name, trials in blocks.items()
            if name not in self._void
            for each in trials
            if each.arm == arm
        ]
        own = [each for _, each in valid]
        cpus_us = [per_delivery_us(each.cpu, self._idle.get(name), each.in_window) for name, each in valid]
        delays_ms = sorted(delay for each in own for delay in each.delays_ms)
        return BandCell(
            delay_ms_p50=quantile_of_ascending(delays_ms, 0.5),
            delay_ms_p25=quantile_of_ascending(delays_ms, 0.25),
            delay_ms_p75=quantile_of_ascending(delays_ms, 0.75),
            cpu_us_per_delivery=median(known(cpus_us)),
            delivered=sum(each.delivered for each in own),
            late=sum(each.late for each in own),
            lost=sum(each.lost for each in own),
            asleep=sum(each.asleep for each in every),
            blocks=len(own),
        )
