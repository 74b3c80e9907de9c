"""One trial, from its first connection to its record.

    connect -> ready -> [idle window] -> expect -> order -> edge | due ... due | edge -> [drain] -> probe -> collect
                                                            |<--- CPU window --->|

Nothing is asked of the server between the edges: its CPU is read from outside, and the clients themselves say when
everything has come. When the last probe is old, as after a long idle window, the clock is probed before `expect` too.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from app import clock
from app.core.clocksync import ClockSync
from app.core.scenario import Plan, TrialSpec
from app.core.trial import TrialRecord
from app.experiment import matching
from app.experiment.api import Operator, Server
from app.experiment.client_link import ClientLink, Collected
from app.experiment.instrument import instrument_record
from app.experiment.trial_warnings import SourceRecord, late_edge, process_warnings
from app.measure.cpu import CpuChange, CpuSampler, CpuSnapshot, difference
from app.measure.store import Published, StampedProbe

PROBES_AT_START = 32
PROBES_AFTER_TRIAL = 8
PROBES_BEFORE_TRIAL = 8

CLOCK_AGE_US_MAX = 5_000_000
"""A trial begins with probes not older than this: its samples need some within 15 s before them, and an idle window,
which is not probed, may be longer than that."""

EDGE_LEAD_US = 20_000
"""How long before the first due time the CPU window opens: ten times what reading it takes."""

EDGE_LAG_US = 100_000
"""How long behind the last due time the CPU window stays open for what has not come. It does not wait for the whole
drain: seconds in which nothing is sent would make an arm that loses a notification look cheap."""

RECORD_TRIES = 50
RECORD_PAUSE_S = 0.02
"""The source closes its record a moment after the last notification was received."""

END_MARGIN_S = 0.25
"""Behind the server's own end of the trial: what comes with the last drain is still heard."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A trial's record and what the store keeps beside it."""

    record: TrialRecord
    published: tuple[Published, ...]
    probes: tuple[StampedProbe, ...]


@dataclass(slots=True)
class Laboratory:
    """Everything that the trials of a run share."""

    run: str
    plan: Plan
    server: Server
    clients: ClientLink
    clock: ClockSync
    clock_age_us_max: int = CLOCK_AGE_US_MAX
    operator: Operator = field(init=False)
    _sampler: CpuSampler | None = field(init=False)
    _probed_us: int | None = field(init=False, default=None)
    """When the last burst ended, on the runner's monotonic clock."""

    def __post_init__(self) -> None:
        self.operator = Operator(self.server)
        self._sampler = None if self.server.pid is None else CpuSampler(self.server.pid)

    def synchronise(self, count: int) -> tuple[StampedProbe, ...]:
        """Probe the server's clock, and hand over the probes for the store."""
        probes = tuple(self.clients.burst(count))
        for each in probes:
            self.clock.add(each.probe, timebase=each.timebase)
        self._probed_us = clock.monotonic_us()
        return probes

    def connect(self, spec: TrialSpec) -> None:
        """Connect the trial's clients in an order of its own, and wait until the server has let all of them in."""
        factors = spec.arm.factors
        topics = str(factors["topics"]).split(",") if "topics" in factors else []
        order = list(range(spec.clients))
        # The first to connect may for ever be the first to be written to: no client shall always be that one.
        random.Random(f"siar clients {self.plan.seed} {spec.index}").shuffle(order)
        url = str(factors.get("via", self.server.url))
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
        started_us = self._now_us()
        self.clients.pause(self.plan.idle_s)
        after = self._edge()
        change = _change(before, after)
        record = TrialRecord(
            spec=spec,
            started_us=started_us,
            ended_us=self._now_us(),
            published=0,
            cpu=change.use if change else None,
            warnings=tuple(process_warnings(change)),
        )
        return Finished(record, (), ())

    def measure(self, spec: TrialSpec) -> Finished:
        """A trial with the clients that are connected."""
        plan = self.plan
        count = plan.warmup_notifications + plan.notifications
        probes_before = self._synchronise_if_old()
        self.clients.expect(self.run, spec.index, count)
        ordered = self.operator.start_trial(_order(self.run, plan, spec))
        self.clients.pause((ordered.first_due_us - EDGE_LEAD_US - self._now_us()) / 1e6)
        before = self._edge()
        started_us = self._now_us()
        is_complete = self._wait_until_complete(ordered.last_due_us + EDGE_LAG_US)
        after = self._edge()
        ended_us = self._now_us()
        is_complete = is_complete or self._wait_until_complete(ordered.ends_us + round(END_MARGIN_S * 1e6))
        probes = self.synchronise(PROBES_AFTER_TRIAL)
        collected = self.clients.collect()
        source = self._source_record(spec, is_complete=is_complete)
        instrument = None
        if plan.instrument:
            answer = self.operator.instrument(self.run, spec.index)
            instrument = instrument_record(answer, source.published, collected.addresses)
        change = _change(before, after)
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
        )
        return Finished(record, source.published, (*probes_before, *probes))

    def _wait_until_complete(self, until_us: int) -> bool:
        """Whether every client has everything by then; server time base."""
        return self.clients.wait_until_complete(max(0, until_us - self._now_us()) / 1e6)

    def _synchronise_if_old(self) -> tuple[StampedProbe, ...]:
        is_fresh = (
            self._probed_us is not None and clock.monotonic_us() - self._probed_us <= self.clock_age_us_max
        )
        return () if is_fresh else self.synchronise(PROBES_BEFORE_TRIAL)

    def _record(
        self, spec: TrialSpec, first_due_us: int, source: SourceRecord, collected: Collected
    ) -> TrialRecord:
        """What source and clients say together; edges and CPU are the caller's."""
        expected = matching.expected_of(self.plan, first_due_us, source.published)
        measured = [each for each in source.published if each.seq >= self.plan.warmup_notifications]
        return TrialRecord(
            spec=spec,
            started_us=first_due_us,
            ended_us=first_due_us,
            published=len(source.published),
            source_lag_us=tuple(each.sent_us - each.due_us for each in measured),
            deliveries=tuple(matching.deliveries(spec, self.plan, expected, collected.arrivals, self.clock)),
            client_loop_lag_ms_p99=collected.loop_lag_ms_p99,
            client_cpu_s=collected.cpu_s,
            disconnects=collected.disconnects,
            disturbances=source.disturbances,
        )

    def _source_record(self, spec: TrialSpec, *, is_complete: bool) -> SourceRecord:
        """Read the source's record and close the trial."""
        tries_left = RECORD_TRIES if is_complete else 1
        answer = self.operator.trial(self.run, spec.index)
        while answer["state"] == "running" and (tries_left := tries_left - 1):
            self.clients.pause(RECORD_PAUSE_S)
            answer = self.operator.trial(self.run, spec.index)
        self.operator.close_trial(self.run, spec.index)
        return SourceRecord(
            state=str(answer["state"]),
            published=tuple(Published(*row) for row in sorted(answer["published"])),
            disturbances=int(answer["disturbances"]),
            paths=tuple(answer["paths"]),
            asked_path=spec.arm.factors.get("fanout"),
        )

    def _edge(self) -> CpuSnapshot | None:
        return self._sampler.snapshot() if self._sampler is not None else None

    def _now_us(self) -> int:
        """Now in the server's time base: the runner shares its monotonic clock with the clients."""
        now_us = clock.monotonic_us()
        model = self.clock.model_at(now_us)
        assert model is not None, "a trial began before the first probe"
        return round(model.server_us(now_us))


def _order(run: str, plan: Plan, spec: TrialSpec) -> dict[str, object]:
    """The body of `POST /api/trials`; `instrument` only when it is wanted, so that older servers understand the rest."""
    order: dict[str, object] = {
        "run": run,
        "trial": spec.index,
        "block": spec.block,
        "transport": spec.arm.transport,
        "notifications": plan.notifications,
        "warmup_notifications": plan.warmup_notifications,
        "rate_hz": plan.rate_hz,
        "payload_bytes": plan.payload_bytes,
        "start_after_ms": round(plan.settle_s * 1000),
        "drain_ms": round(plan.drain_s * 1000),
    }
    return {**order, "instrument": True} if plan.instrument else order


def _change(before: CpuSnapshot | None, after: CpuSnapshot | None) -> CpuChange | None:
    return None if before is None or after is None else difference(before, after)
