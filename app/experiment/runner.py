"""Runs a plan: blocks in their order, void ones repeated at the end, each trial in the store when it is over."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from app.analysis.validity import check_trial
from app.core.clockmodel import WANDER_US
from app.core.clocksync import ClockSync
from app.core.errors import SiarError
from app.core.scenario import BlockSpec, Plan, TrialSpec, repeat_of, schedule
from app.core.trial import Severity
from app.experiment import naming, spool
from app.experiment.api import Server
from app.experiment.client_link import ClientLink, Stopped
from app.experiment.progress import Progress
from app.experiment.trial_run import PROBES_AT_START, Finished, Laboratory
from app.measure import host
from app.measure.store import RunHead, Store
from app.settings import is_loopback

QUANTUM_US = 1.0
"""Step of the clients' clock: microseconds."""

SHARED_CLOCK_WANDER_US = 2.0
"""On one machine client and server read the same clock: nothing wanders but the last digit."""

_TRIAL_OVERHEAD_S = 0.12
"""Connecting, probing and reading the record: a first guess for the time left."""

_IDLE_OVERHEAD_S = 0.01


def run_plan(
    plan: Plan,
    *,
    server: Server,
    runs_dir: Path,
    run_id: str,
    progress: Progress,
    stop: Callable[[], bool] = lambda: False,
    settings: Mapping[str, object] | None = None,
) -> Path:
    """Run `plan` with built-in clients against `server`; gives the run's folder.

    Ctrl-C, or `stop` answering true, ends it: what was measured stays, and the run stays incomplete. Raises `Unfit`
    when server or clients fail, `Conflict` when the run exists; what was measured before stays likewise.
    `settings`: what the caller set, for the run's conditions.
    """
    head = RunHead(
        id=run_id,
        started=naming.utc_now(),
        plan=plan,
        conditions={
            **host.conditions(settings=settings or {}, server=server.version),
            "clock_channel": server.clock_channel,
        },
    )
    with Store.create(runs_dir / run_id, head) as store:
        try:
            with _laboratory(plan, server, run_id, stop) as laboratory:
                _Run(plan, laboratory, store, progress).all_blocks()
            store.finish(ended=naming.utc_now(), conditions={"load_average_end": host.load_average()})
        except (KeyboardInterrupt, Stopped):
            store.stop(ended=naming.utc_now(), conditions={"stopped": "on request"})
        except SiarError as error:
            store.stop(ended=naming.utc_now(), conditions={"stopped": str(error)})
            raise
        finally:
            progress.finish()
            spool.ingest(store)
    return runs_dir / run_id


@contextlib.contextmanager
def _laboratory(plan: Plan, server: Server, run_id: str, stop: Callable[[], bool]) -> Iterator[Laboratory]:
    is_one_machine = is_loopback(server.host)
    clock = ClockSync(
        quantum_us=QUANTUM_US, wander_us=SHARED_CLOCK_WANDER_US if is_one_machine else WANDER_US
    )
    with ClientLink(stop) as clients:
        port = server.clock_port or urlsplit(server.url).port or 80
        clients.open_clock(server.host, port, channel=server.clock_channel)
        yield Laboratory(run_id, plan, server, clients, clock)


@dataclass(slots=True)
class _Run:
    """The way through the plan."""

    plan: Plan
    laboratory: Laboratory
    store: Store
    progress: Progress
    _left: list[BlockSpec] = field(init=False)
    _indexes: Iterator[int] = field(init=False)
    _done: int = 0

    def __post_init__(self) -> None:
        self._left = list(schedule(self.plan))
        self._indexes = itertools.count()

    def all_blocks(self) -> None:
        """Every block of the plan, then those that take the place of void ones, as long as there may be more."""
        self.progress.start(trials=self._trials_left(), left_s=self._left_s())
        self.store.add_probes(self.laboratory.synchronise(PROBES_AT_START))
        repeats = missing = 0
        while self._left:
            block = self._left.pop(0)
            why_void = self._block(block)
            if why_void is None:
                continue
            if repeats < self.plan.extra_blocks_max:
                self._left.append(repeat_of(block, block=self.plan.blocks + repeats))
                repeats += 1
                self.progress.note(f"{_name(block)} is void and will be repeated at the end. {why_void}")
            else:
                missing += 1
        if missing:
            self.progress.note(f"Void blocks that could not be repeated any more: {missing}.")

    def _block(self, block: BlockSpec) -> str | None:
        """Run a block; why it is void, or `None`. The rest of a void one runs too: what it shows is kept."""
        why_void: str | None = None
        for position, arm in enumerate(block.arms):
            is_first_of_idle_arm = self.plan.idle_s > 0 and arm == block.idle_arm
            spec = TrialSpec(next(self._indexes), block.block, block.clients, arm, idle=is_first_of_idle_arm)
            self._announce(spec, block, position)
            self.laboratory.connect(spec)
            if is_first_of_idle_arm:
                why_void = self._keep(self.laboratory.idle(spec)) or why_void
                spec = TrialSpec(next(self._indexes), block.block, block.clients, arm)
                self._announce(spec, block, position)
            why_void = self._keep(self.laboratory.measure(spec)) or why_void
            self.laboratory.clients.disconnect()
        spool.ingest(self.store)
        return why_void

    def _keep(self, finished: Finished) -> str | None:
        """Put a trial into the store; why it is void, or `None`. The analysis finds the same from the raw rows."""
        self.store.add_trial(finished.record, published=finished.published)
        self.store.add_probes(finished.probes)
        self._done += 1
        warnings = check_trial(finished.record, self.plan)
        return next((each.text for each in warnings if each.severity is Severity.VOID), None)

    def _announce(self, spec: TrialSpec, block: BlockSpec, position: int) -> None:
        left = len(block.arms) - position
        is_idle_to_come = spec.idle or (self.plan.idle_s > 0 and block.idle_arm in block.arms[position + 1 :])
        trials_here = left + is_idle_to_come
        self.progress.trial(
            spec,
            done=self._done,
            trials=self._done + trials_here + self._trials_left(),
            left_s=left * self._trial_s() + is_idle_to_come * self._idle_s() + self._left_s(),
        )

    def _trials_left(self) -> int:
        return sum(len(block.arms) + (self.plan.idle_s > 0) for block in self._left)

    def _left_s(self) -> float:
        return sum(len(block.arms) * self._trial_s() + self._idle_s() for block in self._left)

    def _trial_s(self) -> float:
        plan = self.plan
        return (
            (plan.warmup_notifications + plan.notifications) / plan.rate_hz
            + plan.settle_s
            + _TRIAL_OVERHEAD_S
        )

    def _idle_s(self) -> float:
        plan = self.plan
        return plan.idle_s + plan.settle_s + _IDLE_OVERHEAD_S if plan.idle_s > 0 else 0.0


def _name(block: BlockSpec) -> str:
    return f"Block {block.block + 1} with {block.clients} client{'s' if block.clients > 1 else ''}"
