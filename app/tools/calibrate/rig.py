"""A trial with a known answer: server, proxy, clients with a chosen clock error, and what each of them recorded."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from app import clock
from app.core.clocksync.sync import ClockSync
from app.core.plan.scenario import Arm, Plan, TrialSpec, arms_from_names
from app.core.trial import TrialRecord
from app.core.wire import TRANSPORTS
from app.lab.analysis.metrics.trial_metrics import TrialMetrics, measure
from app.lab.run import matching, server_process
from app.lab.run.api import Operator, Server
from app.lab.run.client_link import ClientLink
from app.lab.run.runner import QUANTUM_US, SHARED_CLOCK_WANDER_US
from app.lab.run.runner_clock import PROBES_AT_START
from app.lab.run.simulated_clock import SimulatedClock
from app.lab.run.trial_requests import source_record, start_request
from app.lab.run.trial_run import PROBES_AFTER_TRIAL
from app.tools.calibrate.case import CLIENTS, RATE_HZ, WARMUP, Case
from app.tools.calibrate.proxy import Impairment, Passage, Proxy

RUN = "calibration"

SETTLE_S = 0.1

DRAIN_S = 1.0
"""Wait after the last due time, in addition to the injected delay. What has not arrived by then was dropped, even on a
slow machine."""

OVERHEAD_S = 0.5
"""Duration of a case in addition to its notifications: connecting, probing, collecting."""

CUT_DRAIN_S = 3.0
"""Longer wait after a break: a client waits 0.2 s before it reconnects, and the proxy then delays it further."""


@dataclass(frozen=True, slots=True)
class Truth:
    """Values that are known by construction."""

    anchor_us: int
    """Server stamp minus true clock."""
    client_clock: SimulatedClock
    """The error of the clients' clock."""
    passages: tuple[Passage, ...]
    cut_us: float | None
    """True clock: when the connections were broken; `None` if they were not."""

    def offset_us(self, client_us: float) -> float:
        """Return the true offset from a client's stamp to the server's time."""
        return self.client_clock.true_us(client_us) + self.anchor_us - client_us


@dataclass(frozen=True, slots=True)
class Finished:
    """A finished case: what was measured, and the truth."""

    case: Case
    record: TrialRecord
    metrics: TrialMetrics
    truth: Truth

    @property
    def loop_lag_ms(self) -> float:
        """Lag of the clients' event loop, p99; 0 if the platform cannot measure it."""
        return self.record.client_loop_lag_ms_p99 or 0.0


@dataclass(slots=True)
class Rig:
    """A server and clients that run one case after another."""

    server: Server
    clients: ClientLink
    anchor_us: int
    plan: Plan
    _operator: Operator = field(init=False)
    _trials: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._operator = Operator(self.server)

    def seconds(self, case: Case) -> float:
        """Return the approximate duration of a case."""
        sent_s = (WARMUP + self.plan.notifications) / RATE_HZ
        waits_out = case.impairment.dropped
        return SETTLE_S + sent_s + (_drain_s(case) if waits_out else 0.0) + OVERHEAD_S

    def run(self, case: Case) -> Finished:
        """Run one case as a trial. Raises `Unfit` when server or clients fail."""
        client_clock = replace(case.client_clock, from_us=clock.monotonic_us())
        sync = ClockSync(quantum_us=QUANTUM_US, wander_us=SHARED_CLOCK_WANDER_US)
        spec = TrialSpec(self._trials, 0, CLIENTS, Arm(case.transport, case.transport))
        plan = replace(self.plan, drain_s=_drain_s(case))
        self._trials += 1
        self.clients.simulate_clock(client_clock)
        with self._channel(case), Proxy(self.server.host, _port(self.server), case.impairment) as proxy:
            self._connect(case, proxy.url)
            self._probe(sync, PROBES_AT_START)
            self.clients.expect(RUN, spec.index, WARMUP + plan.notifications)
            ordered = self._operator.start_trial(start_request(RUN, plan, spec, start_after_s=SETTLE_S))
            if case.step_in_trial:
                middle_us = (ordered.first_due_us + ordered.last_due_us) / 2 - self.anchor_us
                client_clock = replace(client_clock, step_at_us=middle_us)
                self.clients.simulate_clock(client_clock)
            ends_us = ordered.last_due_us + plan.drain_s * 1e6 - self.anchor_us
            is_complete = self.clients.wait_until_complete(max(0.0, ends_us - clock.monotonic_us()) / 1e6)
            self._probe(sync, PROBES_AFTER_TRIAL)
            collected = self.clients.collect()
            self.clients.disconnect()
        source = source_record(self._operator, RUN, spec, is_complete=is_complete, pause=self.clients.pause)
        expected = matching.expected_of(plan, ordered.first_due_us, source.published)
        record = TrialRecord(
            spec=spec,
            started_us=ordered.first_due_us,
            ended_us=ordered.ends_us,
            published=len(source.published),
            deliveries=tuple(matching.deliveries(spec, plan, expected, collected.arrivals, sync)),
            client_loop_lag_ms_p99=collected.loop_lag_ms_p99,
            disconnects=collected.disconnects,
        )
        truth = Truth(self.anchor_us, client_clock, tuple(proxy.passages), proxy.cut_us)
        return Finished(case, record, measure(record, plan), truth)

    @contextlib.contextmanager
    def _channel(self, case: Case) -> Iterator[None]:
        """Open the clock's channel, through a proxy of its own if one direction is to be slower."""
        port = self.server.clock_port or _port(self.server)
        if not case.channel_delay_us:
            self.clients.open_clock(self.server.host, port, channel=self.server.clock_channel)
            yield
            return
        with Proxy(self.server.host, port, Impairment(delay_us=case.channel_delay_us)) as slower:
            self.clients.open_clock("127.0.0.1", slower.own_port, channel=self.server.clock_channel)
            yield

    def _connect(self, case: Case, url: str) -> None:
        self.clients.connect([{"client": n, "transport": case.transport, "url": url} for n in range(CLIENTS)])

    def _probe(self, sync: ClockSync, count: int) -> None:
        for each in self.clients.burst(count):
            sync.add(each.probe, timebase=each.timebase)


@contextlib.contextmanager
def set_up(folder: Path, *, notifications: int) -> Iterator[Rig]:
    """Start clients and a server whose time base is known to the microsecond. Raises `Unfit`."""
    anchor_us = clock.anchor_us()
    settings = {
        "SIAR_RECORDER": "0",
        "SIAR_ANCHOR_US": str(anchor_us),
        "SIAR_TIMEBASE": clock.timebase(),
    }
    plan = Plan(
        arms=arms_from_names(list(TRANSPORTS)),
        client_counts=(CLIENTS,),
        blocks=1,
        notifications=notifications,
        warmup_notifications=WARMUP,
        rate_hz=RATE_HZ,
        payload_bytes=512,
        seed=0,
        profile="calibration",
        idle_s=0.0,
        settle_s=SETTLE_S,
        drain_s=DRAIN_S,
    )
    with server_process.start(runs_dir=folder, settings=settings) as started, ClientLink() as clients:
        yield Rig(started.server, clients, anchor_us, plan)


def _drain_s(case: Case) -> float:
    injected = case.impairment
    own_s = CUT_DRAIN_S if injected.cut_at is not None else DRAIN_S
    return own_s + injected.delay_us / 1e6 + injected.outage_us / 1e6


def _port(server: Server) -> int:
    return urlsplit(server.url).port or 80
