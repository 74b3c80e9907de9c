"""`./siar bench --processes 1,4`: gain of more server processes on this machine, and cost of Redis between them.

One process with its history in memory alternates with several over one Redis. All else is as in the bench: the same
subscribers, the same publisher on one connection, the same bytes. Nothing is pinned to a core, because several
processes are meant for several cores.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from app import clock
from app.core.errors import SiarError, Unfit
from app.core.wire import TRANSPORTS
from app.lab.measure.cpu import usable_cores
from app.tools.bench import server_under_test
from app.tools.bench.burst import burst_cell
from app.tools.bench.cells import paced_cell
from app.tools.bench.machine import Cores
from app.tools.bench.own_redis import RedisHere, own_redis
from app.tools.bench.plan import BenchPlan, Level
from app.tools.bench.publisher import Publisher
from app.tools.bench.run import BenchRun, Say, failed_cell, note_cell
from app.tools.bench.server_under_test import ServerUnderTest
from app.tools.bench.session import BURST_HTTP, Session, publisher_of
from app.tools.bench.subscriber_pool import Member, subscriber_pool

PROCESSES = (1, 4)
PROCESSES_MAX = 64
SUBSCRIBERS = 1_000
REPETITIONS = 8
"""From seven on, the exact 95 % interval excludes the two outermost values; one repetition may fail."""

PERIOD_S = 0.3
BOOT_S = 30.0
_LOOK_S = 0.1

ANYWHERE = Cores(None, None)

_SESSION_S = 9.0
"""Approximate duration of a session: start, connect, measure and end."""

OTHERS = 1
"""Other busy processes: the swarm. Publisher and Redis wait for the server most of the time."""


@dataclass(frozen=True, slots=True)
class ServerArm:
    """A server that is compared."""

    processes: int
    is_in_memory: bool = False

    @property
    def name(self) -> str:
        """Its name in cells."""
        return f"{'memory' if self.is_in_memory else 'redis'}-{self.processes}"


@dataclass(frozen=True, slots=True)
class SeveralPlan:
    """Parameters of a whole run."""

    processes: tuple[int, ...] = PROCESSES
    transports: tuple[str, ...] = TRANSPORTS
    subscribers: int = SUBSCRIBERS
    repetitions: int = REPETITIONS
    notifications: int = 150
    """Number of back-to-back notifications."""
    seconds: float = 1.8
    arms: tuple[ServerArm, ...] = field(init=False)

    def __post_init__(self) -> None:
        arms = (ServerArm(1, is_in_memory=True), *map(ServerArm, self.processes))
        object.__setattr__(self, "arms", arms)

    def expected_s(self) -> float:
        """Return the approximate duration."""
        return _SESSION_S * self.repetitions * len(self.transports) * len(self.arms)

    def level(self) -> Level:
        """Return the parameters of the paced cell."""
        return Level(self.subscribers, PERIOD_S, max(3, round(self.seconds / PERIOD_S)))

    def as_bench(self) -> BenchPlan:
        """Return the equivalent bench plan, for the code that summarises and shows any bench."""
        return BenchPlan(
            servers=tuple(arm.name for arm in self.arms),
            transports=self.transports,
            parts=("paced", "burst"),
            levels=(self.subscribers,),
            repetitions=self.repetitions,
            seconds=self.seconds,
            burst_rounds=1,
            burst_notifications=self.notifications,
            burst_warm_up=0,
            burst_subscribers=self.subscribers,
        )


def is_oversubscribed(processes: int) -> bool:
    """Return whether there is less than a core for each of the server processes and the swarm."""
    return processes + OTHERS > usable_cores()


def run_several(plan: SeveralPlan, say: Say) -> BenchRun:
    """Execute the plan.

    A session that fails leaves a cell with the reason. Raises `Unfit` if no Redis can be started.
    """
    done = BenchRun(plan.as_bench())
    begun_us = clock.monotonic_us()
    with own_redis(ANYWHERE) as redis:
        for repetition in range(plan.repetitions):
            for transport in plan.transports:
                turn = repetition % len(plan.arms)
                for arm in plan.arms[turn:] + plan.arms[:turn]:
                    _run_session(done, plan, arm, transport, repetition, redis, say)
    done.duration_s = (clock.monotonic_us() - begun_us) / 1e6
    return done


def _run_session(
    done: BenchRun,
    plan: SeveralPlan,
    arm: ServerArm,
    transport: str,
    repetition: int,
    redis: RedisHere,
    say: Say,
) -> None:
    over = None if arm.is_in_memory else redis
    try:
        with (
            server_under_test.several(arm.name, arm.processes, ANYWHERE, over) as running,
            subscriber_pool([Member(transport)], running.host, running.port) as subscribers,
            publisher_of(running) as publisher,
        ):
            _wait_for_all(running, publisher)
            session = Session(running, transport, repetition, subscribers, publisher)
            note_cell(done, paced_cell(session, plan.level()), say)
            note_cell(done, burst_cell(session, BURST_HTTP, plan.notifications, plan.subscribers), say)
    except SiarError as error:
        note_cell(done, failed_cell(arm.name, transport, repetition, error), say)


def _wait_for_all(running: ServerUnderTest, publisher: Publisher) -> None:
    """Wait until every process answers, because a late one would get no subscribers."""
    deadline_us = clock.monotonic_us() + round(BOOT_S * 1e6)
    while clock.monotonic_us() < deadline_us:
        if publisher.state().processes == running.processes:
            return
        time.sleep(_LOOK_S)
    raise Unfit(f"After {BOOT_S:g} s not all {running.processes} processes of the server had started.")
