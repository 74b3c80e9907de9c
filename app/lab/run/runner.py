"""The runner of a plan: blocks in their order, then repetitions of invalid ones; each trial is stored when it is over.

A laboratory (`laboratory.py`) provides the clients: built-in ones here, phones in `phones.py`.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from app.core.clocksync.model import WANDER_US
from app.core.clocksync.sync import ClockSync
from app.core.errors import Malformed, SiarError
from app.core.plan.scenario import Arm, BlockSpec, Plan, TrialSpec, repeat_of, schedule, trial_s
from app.core.trial import Severity, TrialWarning
from app.i18n import remark
from app.lab.analysis.validity.checks import check_trial, is_valid
from app.lab.analysis.validity.trial_warnings import texts
from app.lab.measure import host
from app.lab.run.api import Server
from app.lab.run.client_link import ClientLink, Stopped
from app.lab.run.client_tls import address_of
from app.lab.run.laboratory import Finished, Laboratory
from app.lab.run.progress import Progress
from app.lab.run.trial_run import BuiltInClients
from app.settings import is_loopback
from app.store import run_ids as naming
from app.store import spool
from app.store.store import RunHead, Store

QUANTUM_US = 1.0
"""Resolution of the clients' clock."""

SHARED_CLOCK_WANDER_US = 2.0
"""Wander of a clock that client and server share on one machine: rounding only."""

OpenLaboratory = Callable[[Store], AbstractContextManager[Laboratory]]
"""Opens the laboratory of a run whose store is open."""

Walk = Callable[[Plan, Laboratory, Store, Progress], None]
"""Runs the trials of a plan in some order."""


def run_plan(
    plan: Plan,
    *,
    server: Server,
    runs_dir: Path,
    run_id: str,
    progress: Progress,
    stop: Callable[[], bool] = lambda: False,
    settings: Mapping[str, object] | None = None,
    others: Mapping[str, Server] | None = None,
) -> Path:
    """Run `plan` with built-in clients against `server`; return the run's folder.

    Ctrl-C, or a true result of `stop`, ends the run: finished trials stay, and the run is incomplete. Raises `Conflict` when
    the run exists, and `Unfit` when server or clients fail, after which finished trials stay, too. `settings` are the caller's
    settings for the run's conditions. `others` are servers by broker, for arms that name a broker.
    """
    for arm in plan.arms:
        if "broker" in arm.factors and arm.factors["broker"] not in (others or {}):
            raise Malformed(
                f"The arm {arm.name!r} has a broker: it gets its own server from `./siar run` only."
            )
    head = RunHead(
        id=run_id,
        started=naming.utc_now(),
        plan=plan,
        conditions={
            **host.conditions(settings=settings or {}, server=server.version),
            "clock_channel": server.clock_channel,
        },
    )
    return run_in_laboratory(
        head, runs_dir / run_id, lambda _store: _built_in(plan, server, run_id, stop, others or {}), progress
    )


def run_in_laboratory(
    head: RunHead,
    folder: Path,
    open_laboratory: OpenLaboratory,
    progress: Progress,
    *,
    folder_exists: bool = False,
    walk: Walk = lambda *all_of_it: _Run(*all_of_it).all_blocks(),
) -> Path:
    """Run the head's plan in `folder` with the clients of a laboratory; return the folder.

    Ends and raises as `run_plan` does. Set `folder_exists` if the server may have made the folder for posted samples. `walk`
    runs the trials; by default block by block, with repetitions of invalid blocks.
    """
    at_end: dict[str, object] = {}
    with Store.create(folder, head, folder_exists=folder_exists) as store:
        try:
            with open_laboratory(store) as laboratory:
                try:
                    walk(head.plan, laboratory, store, progress)
                finally:
                    at_end |= laboratory.at_end()
            store.finish(
                ended=naming.utc_now(), conditions={**at_end, "load_average_end": host.load_average()}
            )
        except (KeyboardInterrupt, Stopped):
            store.stop(ended=naming.utc_now(), conditions={**at_end, "stopped": "on request"})
        except SiarError as error:
            store.stop(ended=naming.utc_now(), conditions={**at_end, "stopped": str(error)})
            raise
        finally:
            progress.finish()
            spool.ingest(store)
    return folder


@contextlib.contextmanager
def _built_in(
    plan: Plan, server: Server, run_id: str, stop: Callable[[], bool], others: Mapping[str, Server]
) -> Iterator[Laboratory]:
    with clock_link(server, stop) as (clients, clock):
        yield BuiltInClients(run_id, plan, server, clients, clock, others=others)


@contextlib.contextmanager
def clock_link(server: Server, stop: Callable[[], bool]) -> Iterator[tuple[ClientLink, ClockSync]]:
    """Provide the clients' process with an open clock channel, and a clock model without probes."""
    is_one_machine = is_loopback(server.host)
    clock = ClockSync(
        quantum_us=QUANTUM_US, wander_us=SHARED_CLOCK_WANDER_US if is_one_machine else WANDER_US
    )
    with ClientLink(stop) as clients:
        port = server.clock_port or address_of(server.url)[1]
        secure = urlsplit(server.url).scheme == "https"
        clients.open_clock(server.host, port, channel=server.clock_channel, secure=secure)
        yield clients, clock


@dataclass(slots=True)
class _Run:
    """The state of a run through the blocks of a plan."""

    plan: Plan
    laboratory: Laboratory
    store: Store
    progress: Progress
    _left: list[BlockSpec] = field(init=False)
    _indexes: Iterator[int] = field(init=False)
    _names: set[tuple[int, int]] = field(default_factory=set)
    """Pairs (clients, block) of blocks that ran; each may run only once."""
    _done: int = 0

    def __post_init__(self) -> None:
        self._left = list(schedule(self.plan))
        self._indexes = itertools.count()

    def all_blocks(self) -> None:
        """Run every block of the plan, then repetitions of invalid ones up to the plan's limit."""
        self.progress.start(trials=self._trials_left(), left_s=self._left_s())
        self.store.add_probes(self.laboratory.begin())
        repeats = missing = 0
        while self._left:
            planned = self._next()
            block = self.laboratory.begin_block(planned)
            if block is None or (block.clients, block.block) in self._names:
                self.progress.note(remark("left_out", **_name(planned)))
                continue
            self._names.add((block.clients, block.block))
            why_void = self._block(block)
            if why_void is None:
                continue
            if repeats < self.plan.extra_blocks_max:
                self._left.append(repeat_of(block, block=self.plan.blocks + repeats))
                repeats += 1
                why = texts(why_void)["text"]
                self.progress.note(remark("void_block", why=why, why_code=why_void.code, **_name(block)))
            else:
                missing += 1
        if missing:
            self.progress.note(remark("not_repeated", count=missing))

    def _next(self) -> BlockSpec:
        """Take the first block for which enough clients are present, or else the first of all."""
        enough = (index for index, block in enumerate(self._left) if self.laboratory.has_enough_for(block))
        return self._left.pop(next(enough, 0))

    def _block(self, block: BlockSpec) -> TrialWarning | None:
        """Run a block; return why it is invalid, or `None`. An invalid block runs to its end, and its trials are kept."""
        why_void: TrialWarning | None = None
        for position, arm in enumerate(block.arms):
            idle = None
            if self.plan.idle_s > 0 and arm == block.idle_arm:
                idle = TrialSpec(next(self._indexes), block.block, block.clients, arm, idle=True)
            spec = TrialSpec(next(self._indexes), block.block, block.clients, arm)
            self._announce(idle or spec, block, position)
            self.laboratory.connect(spec)
            if idle is not None:
                why_void = self._store_trial(self.laboratory.idle(idle)) or why_void
                self._announce(spec, block, position)
            why_void = self._store_trial(self.laboratory.measure(spec)) or why_void
            self.laboratory.disconnect()
        spool.ingest(self.store)
        return why_void

    def _store_trial(self, finished: Finished) -> TrialWarning | None:
        """Store a trial; return why it is invalid, or `None`. The analysis concludes the same from the stored rows."""
        self.store.add_trial(finished.record, published=finished.published)
        self.store.add_probes(finished.probes)
        self._done += 1
        warnings = check_trial(finished.record, self.plan)
        self.progress.kept(finished.record, is_valid=is_valid(warnings))
        return next((each for each in warnings if each.severity is Severity.VOID), None)

    def _announce(self, spec: TrialSpec, block: BlockSpec, position: int) -> None:
        left = len(block.arms) - position
        is_idle_to_come = spec.idle or (self.plan.idle_s > 0 and block.idle_arm in block.arms[position + 1 :])
        trials_here = left + is_idle_to_come
        self.progress.trial(
            spec,
            done=self._done,
            trials=self._done + trials_here + self._trials_left(),
            left_s=sum(map(self._trial_s, block.arms[position:]))
            + is_idle_to_come * self._idle_s()
            + self._left_s(),
        )

    def _trials_left(self) -> int:
        return sum(len(block.arms) + (self.plan.idle_s > 0) for block in self._left)

    def _left_s(self) -> float:
        return sum(sum(map(self._trial_s, block.arms)) + self._idle_s() for block in self._left)

    def _trial_s(self, arm: Arm) -> float:
        return trial_s(self.plan, arm) + self.laboratory.overhead_s

    def _idle_s(self) -> float:
        plan = self.plan
        return plan.idle_s + plan.settle_s + self.laboratory.idle_overhead_s if plan.idle_s > 0 else 0.0


def _name(block: BlockSpec) -> dict[str, int]:
    return {"block": block.block + 1, "clients": block.clients}
