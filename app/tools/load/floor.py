"""Proof of the generator: the same users and rate against a minimal server, right before the measured trial.

The delay there is the floor: a loop of `send` in one thread, plus the generator. No server can be shown to be faster
with this generator. A high floor means that the generator or the machine is slow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from app import clock
from app.core.histogram import Histogram
from app.core.pacing import due_us
from app.lab.analysis.validity.trial_warnings import void
from app.tools.bench import server_under_test
from app.tools.bench.machine import Cores
from app.tools.bench.plan import FLOOR
from app.tools.bench.publisher import Publisher
from app.tools.load.client_selector import CONNECT_EXTRA_S
from app.tools.load.cpu_isolation import Sharing
from app.tools.load.generators import SHARED, Gathered, Generators, Handshakes
from app.tools.load.invalid_rules import rules
from app.tools.load.trial_line import FloorLine
from app.tools.load.watch import Observations, Watch

NOTIFICATIONS = 5
DRAIN_S = 3.0


def proof_s(rate_hz: float) -> float:
    """Return the approximate duration of a proof, without connecting."""
    return 1.0 + NOTIFICATIONS / rate_hz


def prove(
    generators: Generators,
    cores: Cores,
    *,
    transport: str,
    users: int,
    rate_hz: float,
    spawn_rate: float,
    pause: Callable[[float], None],
) -> FloorLine:
    """Connect users to the minimal server, publish a few notifications at the rate, and return the measured delays."""
    with server_under_test.running(FLOOR, cores, {}) as source:
        handshakes = generators.connect(
            list(range(users)),
            transport=transport,
            url=f"http://{source.host}:{source.port}",
            topics=(),
            fanout=None,
            spawn_rate=spawn_rate,
            timeout_s=users / spawn_rate + CONNECT_EXTRA_S,
        )
        publisher = Publisher(source.host, source.port, source.token)
        try:
            generators.expect(None, 0, NOTIFICATIONS, first_offset=1)
            watch = Watch(generators.pids)
            dues_us = _publish(publisher, rate_hz, pause)
            generators.wait_until_complete(DRAIN_S)
            observations = watch.end()
            gathered = generators.collect()
        finally:
            publisher.close()
            generators.disconnect()
    return _line(transport, users, rate_hz, handshakes, dues_us, gathered, observations)


def _publish(publisher: Publisher, rate_hz: float, pause: Callable[[float], None]) -> list[int]:
    """Publish one notification at each due time. Returns the due times, on the monotonic clock."""
    begin_us = clock.monotonic_us() + 100_000
    dues_us = [due_us(begin_us, rate_hz, number) for number in range(NOTIFICATIONS)]
    for due in dues_us:
        pause(max(0, due - clock.monotonic_us()) / 1e6)
        publisher.publish()
    return dues_us


def _line(
    transport: str,
    users: int,
    rate_hz: float,
    handshakes: Handshakes,
    dues_us: list[int],
    gathered: Gathered,
    observations: Observations,
) -> FloorLine:
    delays, generator_delays = Histogram(), Histogram()
    first: set[tuple[int, int]] = set()
    for row in gathered.rows:
        if row.seq >= len(dues_us) or (row.client, row.seq) in first:
            continue
        first.add((row.client, row.seq))
        if row.flags & SHARED:
            continue  # It arrived, but its own time is unknown: the stamp is that of the last notification in its read.
        delays.add((row.kernel_ns or row.read_ns) / 1000 - dues_us[row.seq])
        if row.kernel_ns:
            generator_delays.add((row.read_ns - row.kernel_ns) / 1000)
    lost = handshakes.connected * len(dues_us) - len(first)
    found = rules(
        replace(gathered, handshakes=handshakes),
        observations,
        arrivals=len(gathered.rows),
        without_stamp=sum(not row.kernel_ns for row in gathered.rows),
        shared=0,
        sharing=Sharing.NEVER,
    )
    if lost:
        found.append(void("floor_lost", lost=lost, expected=handshakes.connected * len(dues_us)))
    return FloorLine(
        transport=transport,
        users=users,
        rate_hz=rate_hz,
        connected=handshakes.connected,
        notifications=len(dues_us),
        lost=lost,
        delay_ms_p50=delays.quantile_ms(0.5),
        delay_ms_p99=delays.quantile_ms(0.99),
        self_ms_p50=generator_delays.quantile_ms(0.5),
        generator_cpu_share_max=observations.cpu_share_max,
        generator_lag_ms_p99=gathered.lag_ms_p99,
        warnings=tuple(found),
    )
