"""One trial with built-in clients, from its first connection to its record.

    connect -> ready -> [idle window] -> expect -> start -> edge | due ... due | edge -> [drain] -> probe -> collect
                                                            |<--- CPU window --->|

The runner sends no request between the edges: it reads the server's CPU from outside, and the clients report when everything
has arrived. If the last probe is old, as after a long idle window, the clock is also probed before `expect`.
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
from app.lab.run.trial_requests import source_record, start_request
from app.lab.run.trial_warnings import SourceRecord, late_edge, process_warnings
from app.store.store import StampedProbe

PROBES_AFTER_TRIAL = 8

EDGE_LEAD_US = 20_000
"""Time from the start of the CPU window to the first due time: ten times the duration of reading CPU clocks."""

EDGE_LAG_US = 100_000
"""Longest time from the last due time to the end of the CPU window, for late arrivals. The window does not include the whole
drain: seconds in which nothing is sent would make an arm that loses a notification look cheap."""

END_MARGIN_S = 0.25
"""Time after the server's end of the trial in which arrivals are still accepted."""


@dataclass(slots=True)
class BuiltInClients:
    """Runs the trials of a run with built-in clients; a `Laboratory`."""

    run: str
    plan: Plan
    server: Server
    clients: ClientLink
    clock: ClockSync
    clock_age_us_max: int = CLOCK_AGE_US_MAX
    others: Mapping[str, Server] = field(default_factory=dict)
    """Servers by broker, for arms that name a broker. They share the first server's clock."""
    operator: Operator = field(init=False)
    overhead_s: float = field(init=False, default=0.12)
    """Estimated duration of connecting, probing and reading the record."""
    idle_overhead_s: float = field(init=False, default=0.01)
    _clock: RunnerClock = field(init=False)
    _sampler: CpuSampler | None = field(init=False)
    _serving: Server = field(init=False)
    _samplers: dict[str, CpuSampler | None] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._clock = RunnerClock(self.clients, self.clock, self.clock_age_us_max)
        for each in (*self.others.values(), self.server):
            self._samplers[each.url] = None if each.pid is None else CpuSampler(each.pid)
            self._use(each)

    def _use(self, server: Server) -> None:
        """Run the following trials on this server; the others are idle meanwhile."""
        self._serving = server
        self.operator = Operator(server)
        self._sampler = self._samplers[server.url]

    def synchronise(self, count: int) -> tuple[StampedProbe, ...]:
        """Probe the server's clock; return the probes for the store."""
        return self._clock.synchronise(count)

    def begin(self) -> tuple[StampedProbe, ...]:
        """Send the first probes; return them for the store."""
        return self.synchronise(PROBES_AT_START)

    def has_enough_for(self, block: BlockSpec) -> bool:
        """Return true, because built-in clients are created on demand."""
        return True

    def begin_block(self, block: BlockSpec) -> BlockSpec:
        """Return the block as planned."""
        return block

    def disconnect(self) -> None:
        """Disconnect the clients."""
        self.clients.disconnect()

    def at_end(self) -> Mapping[str, object]:
        """Return no conditions."""
        return {}

    def connect(self, spec: TrialSpec) -> None:
        """Connect the trial's clients in random order, and wait until the server has accepted all of them."""
        factors = spec.arm.factors
        self._use(self.others.get(str(factors.get("broker")), self.server))
        topics = str(factors["topics"]).split(",") if "topics" in factors else []
        order = list(range(spec.clients))
        # Servers may write to clients in the order of connecting, so no client should always be the first.
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
        """Run an idle window with the connected clients, which is the baseline of CPU use."""
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
        """Run a trial with the connected clients."""
        plan = self.plan
        count = plan.warmup_notifications + plan.notifications
        probes_before = self._clock.synchronise_if_old()
        self.clients.expect(self.run, spec.index, count)
        request = start_request(self.run, plan, spec, start_after_s=plan.settle_s)
        scheduled = self.operator.start_trial(request)
        self._clock.wait_until(scheduled.first_due_us - EDGE_LEAD_US)
        before = self._edge()
        started_us = self._clock.now_us()
        with cpu_seconds(before) as seconds:
            is_complete = self._wait_until_complete(scheduled.last_due_us + EDGE_LAG_US)
        after = self._edge()
        ended_us = self._clock.now_us()
        is_complete = is_complete or self._wait_until_complete(scheduled.ends_us + round(END_MARGIN_S * 1e6))
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
        if started_us > scheduled.first_due_us:
            warnings.append(late_edge((started_us - scheduled.first_due_us) / 1000))
        record = self._record(spec, scheduled.first_due_us, source, collected)
        record = replace(
            record,
            started_us=started_us,
            ended_us=ended_us,
            cpu=change.use if change else None,
            warnings=tuple(warnings),
            instrument=instrument,
            timeline=TrialTimeline(tuple(seconds), collected.openings, collected.uploads),
        )
        return Finished(record, source.published, (*probes_before, *probes))

    def _wait_until_complete(self, until_us: int) -> bool:
        """Wait until every client has everything; return false at `until_us` in the server's time base."""
        return self.clients.wait_until_complete(max(0, until_us - self._clock.now_us()) / 1e6)

    def _record(
        self, spec: TrialSpec, first_due_us: int, source: SourceRecord, collected: Collected
    ) -> TrialRecord:
        """Return the record without times of the CPU window and CPU use, which the caller adds."""
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
    """Return the CPU use between two edges; `None` where the server's processes cannot be read."""
    return None if before is None or after is None else difference(before, after)
