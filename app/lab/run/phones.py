"""The laboratory with phones: they follow the room's instructions, and post their samples after each trial.

    connect -> all ready -> start, "running" -> [settle, idle window, settle] -> edge | due ... due | edge -> all done
                                  phones stop polling                            |<- CPU window ->|

Each step has a time limit. A phone that has not followed by then is missing, which makes the trial invalid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from app.core.errors import Conflict
from app.core.plan.classroom import OVERHEAD_S
from app.core.plan.scenario import BlockSpec, Plan, TrialSpec, arm_plan
from app.core.timeline import TrialTimeline
from app.core.trial import TrialRecord
from app.core.wire import TRIAL_TOPIC_PREFIX
from app.i18n import remark
from app.lab.analysis.validity.trial_warnings import void
from app.lab.analysis.words import pseudonyms
from app.lab.measure.cpu import CpuChange, CpuSampler, CpuSnapshot
from app.lab.measure.cpu_seconds import cpu_seconds
from app.lab.run.api import Server, TrialOnServer
from app.lab.run.laboratory import Finished
from app.lab.run.participant_pool import ParticipantPool
from app.lab.run.phone_records import phone_record, posted
from app.lab.run.room_api import RoomOperator, ServerTime
from app.lab.run.room_watch import RoomWatch
from app.lab.run.trial_requests import source_record, start_request
from app.lab.run.trial_run import EDGE_LAG_US, EDGE_LEAD_US, change_of
from app.lab.run.trial_warnings import late_edge, process_warnings
from app.store import spool
from app.store.plans import idle_lead_s
from app.store.store import StampedProbe, Store

CONNECT_S_MAX = 20.0
"""Time limit for connecting; a phone that wakes up takes seconds."""

REPORT_S_MAX = 15.0
"""Time limit for posting after the end of a trial: last probes, and a retry over a slow network."""

LEAD_US = 5 * EDGE_LEAD_US
"""Time from the start of the CPU window to the first due time, in which nothing is sent."""


@dataclass(slots=True)
class Phones:
    """Runs the trials of a run with phones; a `Laboratory`."""

    run: str
    plan: Plan
    server: Server
    pool: ParticipantPool
    store: Store
    note: Callable[[str], None]
    """Shows a sentence to people."""
    stopping: Callable[[], bool] = lambda: False
    operator: RoomOperator = field(init=False)
    overhead_s: float = field(init=False, default=OVERHEAD_S)
    idle_overhead_s: float = field(init=False, default=0.0)
    _watch: RoomWatch = field(init=False)
    _time: ServerTime = field(init=False)
    _sampler: CpuSampler | None = field(init=False)
    _chosen: tuple[int, ...] = field(init=False, default=())
    _missing: tuple[int, ...] = field(init=False, default=())
    """Chosen clients that are missing in the current trial."""
    _probes: tuple[StampedProbe, ...] = field(init=False, default=())
    _spec: TrialSpec | None = field(init=False, default=None)
    _timeline: TrialTimeline | None = field(init=False, default=None)
    _scheduled: TrialOnServer | None = field(init=False, default=None)
    _devices: dict[int, dict[str, Any]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.operator = RoomOperator(self.server, self.run)
        self._watch = RoomWatch(self.run, self.server, self.operator, self.pool, self.note, self.stopping)
        self._time = ServerTime(self.server.url)
        self._sampler = None if self.server.pid is None else CpuSampler(self.server.pid)

    def begin(self) -> Sequence[StampedProbe]:
        """Read the server's time; phones have probed the clock while they gathered."""
        return self._time.refresh()

    def has_enough_for(self, block: BlockSpec) -> bool:
        """Tell whether enough phones are present."""
        self._watch.refresh()
        return len(self.pool.present) >= block.clients

    def begin_block(self, block: BlockSpec) -> BlockSpec | None:
        """Choose the participants, fewer than planned if too few phones are present; `None` if that count is planned anyway."""
        self._watch.wait_while_paused()
        self._watch.wait_for_anybody()
        self._chosen = self.pool.chosen(block)
        if len(self._chosen) == block.clients:
            return block
        count = len(self._chosen)
        if count in self.plan.client_counts:
            return None
        self.note(remark("fewer", wanted=block.clients, count=count))
        return replace(block, clients=count)

    def connect(self, spec: TrialSpec) -> None:
        """Tell the participants to connect, and wait until all have."""
        self._watch.wait_while_paused()
        self._spec, self._scheduled = spec, None
        self._probes = self._time.refresh()
        self._announce("connect")
        self._missing = self._wait_for("trial_ready", self._time.now_us() + round(CONNECT_S_MAX * 1e6))

    def idle(self, spec: TrialSpec) -> Finished:
        """Run the idle window. The trial after it is scheduled first, so that phones stop polling before both."""
        if self._missing:
            return Finished(self._never_began(spec), (), ())  # The next trial's record has the probes.
        plan = self.plan
        self._schedule(idle_lead_s(plan))
        self._watch.pause(plan.settle_s)
        before, started_us = self._edge(), self._time.now_us()
        self._watch.pause(plan.idle_s)
        change = change_of(before, self._edge())
        record = TrialRecord(
            spec=spec,
            started_us=started_us,
            ended_us=self._time.now_us(),
            published=0,
            cpu=change.use if change else None,
            participants=self._chosen,
            warnings=tuple(process_warnings(change)),
        )
        return Finished(record, (), ())

    def measure(self, spec: TrialSpec) -> Finished:
        """Run the trial; its record is made afterwards from data of the server and the phones."""
        if self._missing:
            return Finished(self._never_began(spec), (), self._probes)
        scheduled = self._scheduled or self._schedule(self.plan.settle_s)
        self._pause_until(scheduled.first_due_us - LEAD_US)
        before, started_us = self._edge(), self._time.now_us()
        with cpu_seconds(before) as seconds:
            self._pause_until(scheduled.last_due_us + EDGE_LAG_US)
        self._timeline = TrialTimeline(tuple(seconds), uploads_known=False)
        change, ended_us = change_of(before, self._edge()), self._time.now_us()
        self._missing = self._collect(scheduled)
        return self._finished(spec, scheduled, change, started_us, ended_us)

    def disconnect(self) -> None:
        """End the trial for the phones, which disconnect by themselves, and count missed trials."""
        self._put_trial(None)
        self._watch.notes(self.pool.note_trial(self._chosen, self._missing))

    def at_end(self) -> Mapping[str, object]:
        """Return the participants by pseudonym, with their device data."""
        return {
            "participants": [
                {"client": each.client, "pseudonym": each.pseudonym, "model": each.model}
                | self._devices.get(each.client, {})
                for each in self.pool.phones
            ]
        }

    def _schedule(self, start_after_s: float) -> TrialOnServer:
        assert self._spec is not None
        request = start_request(
            self.run, replace(self.plan, instrument=False), self._spec, start_after_s=start_after_s
        )
        self._scheduled = self.operator.start_trial(request)
        self._announce("running")
        return self._scheduled

    def _announce(self, state: str) -> None:
        """Send the current trial and its state to the phones."""
        spec, scheduled = self._spec, self._scheduled
        assert spec is not None
        plan = arm_plan(self.plan, spec.arm)
        self._put_trial(
            {
                "index": spec.index,
                "block": spec.block,
                "clients": len(self._chosen),
                "transport": spec.arm.transport,
                "expected_count": plan.warmup_notifications + plan.notifications,
                "warmup_count": plan.warmup_notifications,
                "rate_hz": plan.rate_hz,
                "drain_ms": round(plan.drain_s * 1000),
                "topic": f"{TRIAL_TOPIC_PREFIX}{spec.index}",
                "factors": dict(spec.arm.factors),
                "state": state,
                "participants": [self.pool.device(client) for client in self._chosen],
                "first_due_us": scheduled.first_due_us if scheduled else None,
                "ends_us": scheduled.ends_us if scheduled else None,
            }
        )

    def _put_trial(self, trial: Mapping[str, Any] | None) -> None:
        try:
            self.operator.put_trial(trial)
        except Conflict:  # The room was closed meanwhile.
            self._watch.end()

    def _collect(self, scheduled: TrialOnServer) -> tuple[int, ...]:
        """Wait until all phones have posted; return those that have not."""
        missing = self._wait_for("trial_done", scheduled.ends_us)
        if missing:
            self._announce("collect")
            missing = self._wait_for("trial_done", scheduled.ends_us + round(REPORT_S_MAX * 1e6))
        return missing

    def _finished(
        self,
        spec: TrialSpec,
        scheduled: TrialOnServer,
        change: CpuChange | None,
        started_us: int,
        ended_us: int,
    ) -> Finished:
        source = source_record(self.operator, self.run, spec, is_complete=True, pause=self._watch.pause)
        spool.ingest(self.store)
        clients = {self.pool.device(client): client for client in self._chosen}
        found = posted(self.store, run=self.run, trial=spec.index, clients=clients)
        for client, device in found.devices.items():
            self._devices[client] = dict(device)
        record = phone_record(
            spec, self.plan, self._chosen, source, found, first_due_us=scheduled.first_due_us
        )
        warnings = [*process_warnings(change), *record.warnings]
        if started_us > scheduled.first_due_us:
            warnings.append(late_edge((started_us - scheduled.first_due_us) / 1000))
        record = replace(
            record,
            started_us=started_us,
            ended_us=ended_us,
            cpu=change.use if change else None,
            warnings=tuple(warnings),
            timeline=self._timeline,
        )
        return Finished(record, source.published, self._probes)

    def _never_began(self, spec: TrialSpec) -> TrialRecord:
        """Return the record of a trial that did not begin, because phones were missing."""
        now_us = self._time.now_us()
        warning = void("phone_missing", phones=pseudonyms(self._missing))
        return TrialRecord(
            spec, now_us, now_us, 0, completed=False, participants=self._chosen, warnings=(warning,)
        )

    def _edge(self) -> CpuSnapshot | None:
        return self._sampler.snapshot() if self._sampler is not None else None

    def _pause_until(self, moment_us: int) -> None:
        self._watch.pause((moment_us - self._time.now_us()) / 1e6)

    def _wait_for(self, word: str, until_us: int) -> tuple[int, ...]:
        assert self._spec is not None
        return self._watch.wait_for(
            word, self._spec.index, self._chosen, lambda: self._time.now_us() >= until_us
        )
