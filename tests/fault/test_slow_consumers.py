"""A client that does not keep up is cut off, alike on both transports, and costs nobody else anything."""

from __future__ import annotations

import itertools
import random
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.fanouts import FANOUTS, fanout_settings
from tests.support.metrics import slow_cuts
from tests.support.patience import PATIENCE_S
from tests.support.server import RunningServer, running_server
from tests.support.swarm import Publisher, Subscriber, Swarm

pytestmark = pytest.mark.slow

TRANSPORTS = ("sse", "socketio")


@pytest.fixture(params=FANOUTS)
def fanout(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def connected(swarm: Swarm, server: RunningServer, transports: Iterator[str]) -> list[Subscriber]:
    """Subscribers that have been let in."""
    subscribers = [Subscriber(swarm, server, transport) for transport in transports]
    for each in subscribers:
        each.connect()
    assert swarm.run(lambda: all(each.ledger.first is not None for each in subscribers), PATIENCE_S)
    return subscribers


def be_slow(subscriber: Subscriber, habit: str) -> None:
    if habit == "stops reading":
        subscriber.stall()
    else:
        subscriber.trickle(itertools.repeat(500), pause_s=0.05)


def until_all_are_cut(server: RunningServer, cut_after: dict[str, int]) -> Iterator[dict[str, Any]]:
    """Large notifications; `cut_after` is told with how many each transport's slow client was cut."""
    deadline_s = time.monotonic() + 60
    for number in itertools.count():
        if number % 5 == 0:
            for transport in slow_cuts(server):
                cut_after.setdefault(transport, number)
        if len(cut_after) == len(TRANSPORTS):
            return
        assert time.monotonic() < deadline_s, f"cut off: {cut_after}"
        yield {"title": str(number), "body": "b" * 15_000}


@pytest.mark.parametrize("habit", ["stops reading", "reads too slowly"])
def test_a_slow_consumer_is_cut_off_alike_on_both_transports_and_the_reason_is_told(
    tmp_path: Path, fanout: str, habit: str
) -> None:
    settings: dict[str, Any] = {"queue_notifications_max": 40, "history_bytes": 2**27, "log_level": "info"}
    settings |= fanout_settings(fanout)
    with running_server(tmp_path, recorder=0, **settings) as server, Swarm() as swarm:
        good = connected(swarm, server, iter(TRANSPORTS))
        slow = connected(swarm, server, iter(TRANSPORTS))
        for each in slow:
            be_slow(each, habit)
        cut_after: dict[str, int] = {}
        publisher = Publisher(swarm, server, until_all_are_cut(server, cut_after))
        assert swarm.run(lambda: publisher.finished, 90)
        count = server.publish("the last")["offset"]
        assert swarm.run(lambda: all(each.ledger.through == count for each in good), 10)

        print("cut off after so many notifications:", cut_after)
        assert slow_cuts(server) == {"sse": 1, "socketio": 1}
        assert max(cut_after.values()) <= 3 * min(cut_after.values())
        for transport in TRANSPORTS:
            assert server.log().count(f"A {transport} client was cut off: it does not read.") == 1
        assert all(each.counts == {"connect": 1} and not each.ledger.faults() for each in good)
        come_back_and_read(swarm, slow, count)
        assert all(not each.ledger.faults() and each.ledger.gap_count == 0 for each in slow)
        assert "Traceback" not in server.log(), server.log()


def come_back_and_read(swarm: Swarm, subscribers: list[Subscriber], count: int) -> None:
    """Read what is left of the connection that was cut, then resume from there."""
    for each in subscribers:
        each.read()
    assert swarm.run(lambda: not any(each.is_connected for each in subscribers), 10)
    for each in subscribers:
        each.connect()
    assert swarm.run(lambda: all(each.ledger.through == count for each in subscribers), 20)


NOTIFICATIONS = 60
"""In each part of a block: more than fills the buffers of who does not read, less than has them cut off."""

PAUSE_S = 0.01
BLOCKS = 5


def p95_delay_ms(swarm: Swarm, server: RunningServer, good: list[Subscriber]) -> float:
    """From the start of the publishing call to the read, over all of `good`."""
    offset = max(each.ledger.through for each in good)
    sent_s: dict[int, float] = {}
    delays_ms: list[float] = []

    def drafts() -> Iterator[dict[str, Any]]:
        for number in range(offset + 1, offset + 1 + NOTIFICATIONS):
            sent_s[number] = time.monotonic()
            yield {"title": str(number), "body": "b" * 6_000}

    seen = dict.fromkeys(good, offset)

    def note(subscriber: Subscriber) -> None:
        now_s = time.monotonic()
        new = range(seen[subscriber] + 1, subscriber.ledger.through + 1)
        delays_ms.extend((now_s - sent_s[number]) * 1000 for number in new)
        seen[subscriber] = subscriber.ledger.through

    for each in good:
        each.on_bytes = lambda each=each: note(each)  # type: ignore[misc]
    Publisher(swarm, server, drafts(), pause_s=PAUSE_S)
    assert swarm.run(lambda: len(delays_ms) == NOTIFICATIONS * len(good), 30)
    return statistics.quantiles(delays_ms, n=20)[-1]


@pytest.mark.nightly
@pytest.mark.alone
def test_clients_that_stop_reading_cost_the_others_nothing_measurable(tmp_path: Path, fanout: str) -> None:
    dice = random.Random(7)
    found: dict[str, list[float]] = {"alone": [], "beside stalled ones": []}
    with running_server(tmp_path, recorder=0, **fanout_settings(fanout)) as server, Swarm() as swarm:
        good = connected(swarm, server, itertools.islice(itertools.cycle(TRANSPORTS), 5))
        p95_delay_ms(swarm, server, good)  # warming up
        for _ in range(BLOCKS):
            for part in dice.sample(list(found), 2):
                stalled: list[Subscriber] = []
                if part != "alone":
                    stalled = connected(swarm, server, itertools.islice(itertools.cycle(TRANSPORTS), 5))
                    for each in stalled:
                        each.stall()
                found[part].append(p95_delay_ms(swarm, server, good))
                for each in stalled:
                    each.leave(reset=True)

        print({part: [round(each, 2) for each in p95s] for part, p95s in found.items()})
        alone_ms, beside_ms = (statistics.median(p95s) for p95s in found.values())
        # A broken server would be late by the time that a peer stalls, which is seconds.
        assert beside_ms <= 3 * alone_ms + 2
        assert all(each.counts == {"connect": 1} and not each.ledger.faults() for each in good)
