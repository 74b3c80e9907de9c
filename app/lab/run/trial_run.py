"""One trial, from its first connection to its record.

    connect -> ready -> [idle window] -> expect -> order -> edge | due ... due | edge -> [drain] -> probe -> collect
                                                            |<--- CPU window --->|

Nothing is asked of the server between the edges: its CPU is read from outside, and the clients themselves say when
everything has come. When the last probe is old, as after a long idle window, the clock is probed before `expect` too.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from app.core.clocksync.sync import ClockSync
from app.core.columns import DeliveryColumns
from app.core.plan.scenario import BlockSpec, Plan, TrialSpec, arm_plan
from app.core.timeline import TrialTimeline
from app.core.trial import TrialRecord
from app.lab.measure.cpu import CpuChange, CpuSampler, CpuSnapshot, difference
from app.lab.measure.cpu_seconds import cpu_seconds
from app.lab.run import matching
from app.lab.run.api import Operator, Server
from app.lab.run.client_link import ClientLink, Collected
from app.lab.run.instrument import instrument_record
from app.lab.run.laboratory import Finished
from app.lab.run.runner_clock import CLOCK_AGE_US_MAX, PROBES_AT_START, RunnerClock
from app.lab.run.trial_requests import order_of, source_record
from app.lab.run.trial_warnings import SourceRecord, late_edge, process_warnings
from app.store.store import StampedProbe

PROBES_AFTER_TRIAL = 8

EDGE_LEAD_US = 20_000
"""How long before the first due time the CPU window opens: ten times what reading it takes."""

EDGE_LAG_US = 100_000
"""How long behind the last due time the CPU window stays open for what has not come. It does not wait for the whole
drain: seconds in which nothing is sent would make an arm that loses a notification look cheap."""

END_MARGIN_S = 0.25
"""Behind the server's own end of the trial: what comes with the last drain is still heard."""


@dataclass(slots=True)
class BuiltInClients:
    """The laboratory with built-in clients: everything that the trials of a run share."""

    run: str
    plan: Plan
    server: Server
    clients: ClientLink
    clock: ClockSync
    clock_age_us_max: int = CLOCK_AGE_US_MAX
    others: Mapping[str, Server] = field(default_factory=dict)
    """By broker: the servers of arms that name one. They share the first one's clock."""
    operator: Operator = field(init=False)
    overhead_s: float = field(init=False, default=0.12)
    """Connecting, probing and reading the record."""
    idle_overhead_s: float = field(init=False, default=0.01)
    _clock: RunnerClock = field(init=False)
    _sampler: CpuSampler | None = field(init=False)
    _serving: Server = field(init=False)
    _samplers: dict[str, CpuSampler | None] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._clock = RunnerClock(self.clients, self.clock, self.clock_age_us_max)
        for each in (*self.others.values(), self.server):
            self._samplers[each.url] = None if each.pid is None else CpuSampler(each.pid)
            self._turn_to(each)

    def _turn_to(self, server: Server) -> None:
        """The trials that follow are this server's; the others idle meanwhile."""
        self._serving = server
        self.operator = Operator(server)
        self._sampler = self._samplers[server.url]

    def synchronise(self, count: int) -> tuple[StampedProbe, ...]:
        """Probe the server's clock, and hand over the probes for the store."""
        return self._clock.synchronise(count)

    def begin(self) -> tuple[StampedProbe, ...]:
        """The first probes."""
        return self.synchronise(PROBES_AT_START)

    def has_enough_for(self, block: BlockSpec) -> bool:
        """Always: they are made as they are wanted."""
        return True

    def begin_block(self, block: BlockSpec) -> BlockSpec:
        """The block as planned."""
        return block

    def disconnect(self) -> None:
        """Let the clients go."""
        self.clients.disconnect()

    def at_end(self) -> Mapping[str, object]:
        """Nothing that was not known before."""
        return {}

    def connect(self, spec: TrialSpec) -> None:
        """Connect the trial's clients in an order of its own, and wait until the server has let all of them in."""
        factors = spec.arm.factors
        self._turn_to(self.others.get(str(factors.get("broker")), self.server))
        topics = str(factors["topics"]).split(",") if "topics" in factors else []
        order = list(range(spec.clients))
        # The first to connect may for ever be the first to be written to: no client shall always be that one.
        random.Random(f"siar clients {self.plan.seed} {spec.index}").shuffle(order)
        url = str(factors.get("via", self._serving.url))
        self.clients.connect(
            [
                {
                    "client": client,
                    "transport": spec.arm.transport,
                    "url": url,
                    "topics": topics,
                    "fanout": factors.get("fanout"),
                }
                for client in order
            ]
        )

    def idle(self, spec: TrialSpec) -> Finished:
        """An idle window with the clients that are connected: the baseline of the CPU."""
        self.clients.pause(self.plan.settle_s)
        before = self._edge()
        started_us = self._clock.now_us()
        self.clients.pause(self.plan.idle_s)
        after = self._edge()
        change = change_of(before, after)
        record = TrialRecord(
            spec=spec,
            started_us=started_us,
            ended_us=self._clock.now_us(),
            published=0,
            cpu=change.use if change else None,
            warnings=tuple(process_warnings(change)),
        )
        return Finished(record, (), ())

    def measure(self, spec: TrialSpec) -> Finished:
        """A trial with the clients that are connected."""
        plan = self.plan
        count = plan.warmup_notifications + plan.notifications
        probes_before = self._clock.synchronise_if_old()
        self.clients.expect(self.run, spec.index, count)
        order = order_of(self.run, plan, spec, start_after_s=plan.settle_s)
        ordered = self.operator.start_trial(order)
        self._clock.wait_until(ordered.first_due_us - EDGE_LEAD_US)
        before = self._edge()
        started_us = self._clock.now_us()
        with cpu_seconds(before) as seconds:
            is_complete = self._wait_until_complete(ordered.last_due_us + EDGE_LAG_US)
        after = self._edge()
        ended_us = self._clock.now_us()
        is_complete = is_complete or self._wait_until_complete(ordered.ends_us + round(END_MARGIN_S * 1e6))
        probes = self.synchronise(PROBES_AFTER_TRIAL)
        collected = self.clients.collect()
        source = source_record(
            self.operator, self.run, spec, is_complete=is_complete, pause=self.clients.pause
        )
        instrument = None
        if plan.instrument:
            answer = self.operator.instrument(self.run, spec.index)
            instrument = instrument_record(answer, source.published, collected.addresses)
        change = change_of(before, after)
        warnings = [*process_warnings(change), *source.warnings]
        if started_us > ordered.first_due_us:
            warnings.append(late_edge((started_us - ordered.first_due_us) / 1000))
        record = self._record(spec, ordered.first_due_us, source, collected)
        record = replace(
            record,
            started_us=started_us,
            ended_us=ended_us,
            cpu=change.use if change else None,
            warnings=tuple(warnings),
            instrument=instrument,
            course=TrialTimeline(tuple(seconds), collected.openings, collected.uploads),
        )
        return Finished(record, source.published, (*probes_before, *probes))

    def _wait_until_complete(self, until_us: int) -> bool:
        """Whether every client has everything by then; server time base."""
        return self.clients.wait_until_complete(max(0, until_us - self._clock.now_us()) / 1e6)

    def _record(
        self, spec: TrialSpec, first_due_us: int, source: SourceRecord, collected: Collected
    ) -> TrialRecord:
        """What source and clients say together; edges and CPU are the caller's."""
        expected = matching.expected_of(arm_plan(self.plan, spec.arm), first_due_us, source.published)
        measured = [each for each in source.published if each.seq >= self.plan.warmup_notifications]
        return TrialRecord(
            spec=spec,
            started_us=first_due_us,
            ended_us=first_due_us,
            published=len(source.published),
            source_lag_us=tuple(each.sent_us - each.due_us for each in measured),
            deliveries=DeliveryColumns.of(
                matching.deliveries(spec, self.plan, expected, collected.arrivals, self.clock)
            ),
            client_loop_lag_ms_p99=collected.loop_lag_ms_p99,
            client_cpu_s=collected.cpu_s,
            disconnects=collected.disconnects,
            disturbances=source.disturbances,
        )

    def _edge(self) -> CpuSnapshot | None:
        return self._sampler.snapshot() if self._sampler is not None else None


def change_of(before: CpuSnapshot | None, after: CpuSnapshot | None) -> CpuChange | None:
    """What was used between two edges; `None` where the server's processes are not in reach."""
    return None if before is None or after is None else difference(before, after)
