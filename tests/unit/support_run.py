"""Synthetic runs for tests of analysis and report. Nothing here was measured: every figure is drawn or given."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from app.core.delivery import Delivery, Outcome, SampleState
from app.core.plan.scenario import Arm, BlockSpec, Plan, TrialSpec, arms_from_names, schedule
from app.core.trial import CpuUse, RunRecord, TrialRecord, TrialWarning
from app.lab.analysis.analyse import analyse
from app.lab.report.files import write_all
from app.store.records import RunHead
from app.store.store import Store

EPOCH_US = 1_800_000_000_000_000
"""Server time base of synthetic stamps; a multiple of 1/4 us, so that doubles hold it exactly."""

CLIENT_CLOCK_US = 5_000_000.0
"""Where the synthetic clients' own clocks stand when a trial begins."""


def a_plan(
    *,
    arms: Sequence[str] = ("sse", "socketio"),
    client_counts: tuple[int, ...] = (1, 3, 6),
    blocks: int = 8,
    notifications: int = 20,
    warmup: int = 2,
    environment: str = "loopback",
) -> Plan:
    return Plan(
        arms=arms_from_names(list(arms)),
        client_counts=client_counts,
        blocks=blocks,
        notifications=notifications,
        warmup_notifications=warmup,
        rate_hz=20.0,
        payload_bytes=256,
        seed=7,
        environment=environment,
    )


def a_delivery(
    *,
    client: int = 0,
    seq: int = 0,
    due_ms: float = 0.0,
    lag_ms: float = 0.0,
    delay_ms: float | None = 1.0,
    kernel_delay_ms: float | None = None,
    bound_ms: float | None = 0.05,
    state: SampleState = SampleState.OK,
    outcome: Outcome = Outcome.ON_TIME,
    warmup: bool = False,
) -> Delivery:
    """A row whose delay from due is `delay_ms`; `None` for a lost one."""
    due_us = EPOCH_US + round(due_ms * 1000)
    arrived = delay_ms is not None
    clock_offset_us = EPOCH_US - CLIENT_CLOCK_US
    return Delivery(
        client=client,
        seq=seq,
        warmup=warmup,
        offset=seq + 1,
        due_us=due_us,
        sent_us=due_us + round(lag_ms * 1000),
        received_client_us=CLIENT_CLOCK_US + (due_ms + delay_ms) * 1000 if delay_ms is not None else None,
        clock_offset_us=clock_offset_us if arrived and bound_ms is not None else None,
        clock_bound_us=bound_ms * 1000 if arrived and bound_ms is not None else None,
        kernel_received_us=None if kernel_delay_ms is None else due_us + kernel_delay_ms * 1000,
        state=state,
        outcome=outcome if arrived else Outcome.LOST,
    )


def cpu_use(
    *, total_s: float, wall_s: float = 1.1, machine_busy_s: float | None = None, is_ns: bool = True
) -> CpuUse:
    return CpuUse(
        wall_s=wall_s,
        user_s=round(total_s * 0.7, 2),
        system_s=round(total_s * 0.3, 2),
        total_s=total_s,
        total_is_ns=is_ns,
        machine_busy_s=total_s + 0.02 if machine_busy_s is None else machine_busy_s,
        cores=2,
        voluntary_switches=60,
        involuntary_switches=3,
        rss_bytes=60_000_000,
        cpu_percent_before=4.0,
        cpu_percent_after=5.5,
    )


def a_trial(
    deliveries: Sequence[Delivery] = (),
    *,
    plan: Plan | None = None,
    clients: int = 1,
    arm: Arm | None = None,
    block: int = 0,
    index: int = 0,
    idle: bool = False,
    cpu: CpuUse | None = None,
    published: int | None = None,
    source_lag_us: Sequence[int] = (40, 60, 50),
    warnings: Sequence[TrialWarning] = (),
    **rest: object,
) -> TrialRecord:
    """A trial that is fine unless told otherwise."""
    plan = plan or a_plan()
    planned = 0 if idle else plan.notifications + plan.warmup_notifications
    values: dict[str, object] = {"client_loop_lag_ms_p99": 0.2, "client_cpu_s": 0.01, **rest}
    return TrialRecord(
        spec=TrialSpec(index, block, clients, arm or plan.arms[0], idle=idle),
        started_us=EPOCH_US,
        ended_us=EPOCH_US + 1_100_000,
        published=planned if published is None else published,
        source_lag_us=tuple(source_lag_us),
        deliveries=tuple(deliveries),
        cpu=cpu,
        warnings=tuple(warnings),
        **values,  # type: ignore[arg-type]
    )


@dataclass(slots=True)
class RunMaker:
    """Draws a whole run. `delay_ms(arm, clients, client)` is the middle of what an arm's clients see."""

    plan: Plan = field(default_factory=a_plan)
    delay_ms: Callable[[Arm, int, int], float] = lambda arm, clients, client: (
        (0.55 if arm.transport == "sse" else 0.68) + 0.04 * clients + 0.02 * client
    )
    cpu_us: Callable[[Arm, int], float] = lambda arm, clients: (
        (180.0 if arm.transport == "sse" else 205.0) / clients + 30
    )
    block_noise: float = 0.05
    """Standard deviation between trials, as a share."""
    seed: int = 1
    alter: Callable[[TrialRecord], TrialRecord] = lambda record: record

    def run(self, *, complete: bool = True, blocks_done: int | None = None) -> RunRecord:
        rng = random.Random(self.seed)
        records: list[TrialRecord] = []
        for block in schedule(self.plan):
            if blocks_done is None or block.block < blocks_done:
                records += self._block(block, len(records), rng)
        return RunRecord(
            id="20260101-000000-synthetic",
            started="2026-01-01T00:00:00Z",
            complete=complete,
            plan=self.plan,
            conditions={
                "SYNTHETIC": "made up by a test: nothing was measured",
                "python": "3.11.7",
                "cpu_model": 'none <at all> & "quoted"',
                "governor": None,
                "packages": {"flask": "3.1.0", "eventlet": "0.40.3"},
            },
            trials=tuple(map(self.alter, records)),
        )

    def _block(self, block: BlockSpec, index: int, rng: random.Random) -> list[TrialRecord]:
        idle = a_trial(
            plan=self.plan,
            clients=block.clients,
            arm=block.idle_arm,
            block=block.block,
            index=index,
            idle=True,
            cpu=cpu_use(total_s=0.001, wall_s=0.4, machine_busy_s=0.01),
            source_lag_us=(),
        )
        trials = [self._trial(arm, block, index + 1 + place, rng) for place, arm in enumerate(block.arms)]
        return [idle, *trials]

    def _trial(self, arm: Arm, block: BlockSpec, index: int, rng: random.Random) -> TrialRecord:
        factor = rng.gauss(1.0, self.block_noise)
        period_ms = 1000 / self.plan.rate_hz
        warmups = self.plan.warmup_notifications
        rows = []
        for client in range(block.clients):
            middle_ms = self.delay_ms(arm, block.clients, client) * factor
            for seq in range(warmups + self.plan.notifications):
                kernel_ms = max(middle_ms * rng.lognormvariate(0.0, 0.25), 0.2)
                rows.append(
                    a_delivery(
                        client=client,
                        seq=seq,
                        due_ms=seq * period_ms,
                        lag_ms=0.05,
                        delay_ms=kernel_ms + rng.expovariate(1 / 0.08),
                        kernel_delay_ms=kernel_ms,
                        warmup=seq < warmups,
                        state=SampleState.WARMUP if seq < warmups else SampleState.OK,
                    )
                )
        cost_us = self.cpu_us(arm, block.clients) * rng.gauss(1.0, self.block_noise)
        return a_trial(
            rows,
            plan=self.plan,
            clients=block.clients,
            arm=arm,
            block=block.block,
            index=index,
            cpu=cpu_use(total_s=len(rows) * cost_us / 1e6 + 0.00275),
            source_lag_us=[rng.randrange(20, 90) for _ in range(self.plan.notifications)],
        )


def store_run(run: RunRecord, runs_dir: Path) -> Path:
    """The run's folder, as a runner that finished leaves it: database and report's files."""
    folder = runs_dir / run.id
    head = RunHead(run.id, run.started, run.plan, run.conditions, simulated=run.simulated)
    with Store.create(folder, head) as store:
        for record in run.trials:
            store.add_trial(record)
        if run.complete:
            store.finish(ended="2026-01-01T00:01:00Z")
    with Store.open(folder) as store:
        write_all(analyse(store.load()), folder)
    return folder
