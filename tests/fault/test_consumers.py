"""Clients that read, stall, trickle, reset and come back while notifications are published as fast as they are taken.

Everyone who stays or resumes has every notification once and in order, or was told of the gap. The dice are seeded:
FAULT_SEED=<number> repeats a run's moods, as far as time does.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.fanouts import WAYS_OF_WRITING, fanout_settings
from tests.support.metrics import slow_cuts
from tests.support.patience import PATIENCE_S
from tests.support.server import RunningServer, running_server
from tests.support.swarm import Publisher, Subscriber, Swarm

pytestmark = pytest.mark.slow

SEED = int(os.environ.get("FAULT_SEED", random.randrange(1_000_000)))

SUBSCRIBERS = 25
"""Of each transport."""

PUBLISHERS = 4

CATCH_UP_S = 300.0
"""Whoever has everything ends the wait: only a machine with other work takes so long."""


MOODS: dict[str, tuple[float, float, float]] = {
    "read": (0.5, 0.1, 1.5),
    "stall": (0.15, 0.1, 2.0),
    "trickle": (0.15, 0.1, 1.0),
    "reset": (0.12, 0.0, 0.5),
    "leave": (0.08, 0.0, 0.5),
}
"""For each mood, its probability, and its minimum and maximum duration in seconds."""

SIP_BYTES_MAX = 64
SIP_PAUSE_S = 0.004


class Moody:
    """Changes one subscriber's mood at random until `calm` is called."""

    def __init__(self, swarm: Swarm, subscriber: Subscriber, dice: random.Random) -> None:
        self.subscriber = subscriber
        self.moods: Counter[str] = Counter()
        self._swarm = swarm
        self._dice = dice
        self._is_calm = False

    def begin(self) -> None:
        """Begin with a first mood."""
        self._next()

    def calm(self) -> None:
        """Only read from now on, and reconnect if necessary."""
        self._is_calm = True
        self._reconnect()
        self.subscriber.read()
        self._watch()

    def _watch(self) -> None:
        self._reconnect()
        self._swarm.after(0.02, self._watch)

    def _next(self) -> None:
        if self._is_calm:
            return
        self._reconnect()
        likely = [weight for weight, _low, _high in MOODS.values()]
        mood = self._dice.choices(list(MOODS), likely)[0]
        self.moods[mood] += 1
        _weight, low_s, high_s = MOODS[mood]
        self._act(mood)()
        self._swarm.after(self._dice.uniform(low_s, high_s), self._next)

    def _act(self, mood: str) -> Callable[[], None]:
        subscriber = self.subscriber
        return {
            "read": subscriber.read,
            "stall": subscriber.stall,
            "trickle": lambda: subscriber.trickle(self._sips(), SIP_PAUSE_S),
            "reset": lambda: subscriber.leave(reset=True),
            "leave": lambda: subscriber.leave(reset=False),
        }[mood]

    def _sips(self) -> Iterator[int]:
        while True:
            yield self._dice.randint(1, SIP_BYTES_MAX)

    def _reconnect(self) -> None:
        if not self.subscriber.is_connected:
            self.subscriber.connect()


@pytest.fixture(params=WAYS_OF_WRITING)
def fanout(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def drafts(count: int, dice: random.Random) -> Iterator[dict[str, Any]]:
    """Mostly short ones, and some that fill buffers."""
    for number in range(count):
        size = dice.choice([0, 20, 100, 100, 300, 300, 300, 500, 1_000, 6_000])
        yield {"title": str(number), "body": "b" * size}


def run_moods(server: RunningServer, *, count: int, timeout_s: float) -> list[Moody]:
    """`count` notifications to a moody crowd, and then everyone at peace until they have all."""
    print(f"FAULT_SEED={SEED}")
    dice = random.Random(SEED)
    with Swarm() as swarm:
        crowd = [
            Moody(swarm, Subscriber(swarm, server, transport), random.Random(dice.random()))
            for transport in ("sse", "socketio")
            for _ in range(SUBSCRIBERS)
        ]
        for each in crowd:
            each.subscriber.connect()
        assert swarm.run(lambda: all(each.subscriber.ledger.first is not None for each in crowd), PATIENCE_S)
        for each in crowd:
            each.begin()
        to_publish = drafts(count, dice)
        publishers = [Publisher(swarm, server, to_publish) for _ in range(PUBLISHERS)]
        assert swarm.run(lambda: all(each.finished for each in publishers), timeout_s), "publishing was slow"
        for each in crowd:
            each.calm()
        swarm.run(lambda: all(each.subscriber.ledger.through >= count for each in crowd), CATCH_UP_S)
    print("moods:", dict(sum((each.moods for each in crowd), Counter())))
    print("fates:", dict(sum((each.subscriber.counts for each in crowd), Counter())))
    return crowd


def faults_of(crowd: list[Moody], count: int) -> dict[str, list[str]]:
    """What is wrong in anybody's ledger."""
    found = {}
    for number, each in enumerate(crowd):
        ledger = each.subscriber.ledger
        faults = ledger.faults()[:3]
        if ledger.through != count:
            faults.append(f"ends at {ledger.through}")
        if faults:
            found[f"{each.subscriber.transport} {number}"] = faults
    return found


def test_whoever_stays_or_resumes_has_every_notification_in_order(tmp_path: Path, fanout: str) -> None:
    count = 10_000
    settings = {
        "history_count": 2 * count,
        "history_bytes": 2**28,
        "heartbeat_s": 0.5,
        "ping_interval_s": 2,
        "queue_notifications_max": 500,
        **fanout_settings(fanout),
    }
    with running_server(tmp_path, recorder=0, **settings) as server:
        crowd = run_moods(server, count=count, timeout_s=1200)

        print("slow consumers cut off:", slow_cuts(server))
        assert faults_of(crowd, count) == {}
        assert sum(each.subscriber.ledger.gap_count for each in crowd) == 0
        assert sum((each.moods for each in crowd), Counter()).keys() == MOODS.keys()
        assert "Traceback" not in server.log(), server.log()


def test_where_history_is_short_every_hole_is_told_as_a_gap(tmp_path: Path, fanout: str) -> None:
    count = 1_000
    settings = {
        "history_count": 30,
        "heartbeat_s": 0.5,
        "queue_notifications_max": 20,
        **fanout_settings(fanout),
    }
    with running_server(tmp_path, recorder=0, **settings) as server:
        crowd = run_moods(server, count=count, timeout_s=1200)

        print("slow consumers cut off:", slow_cuts(server))
        assert faults_of(crowd, count) == {}
        for transport in ("sse", "socketio"):
            assert sum(
                each.subscriber.ledger.gap_count for each in crowd if each.subscriber.transport == transport
            )
        assert "Traceback" not in server.log(), server.log()


def test_a_stream_that_breaks_before_its_gap_event_is_told_of_the_gap_again(
    tmp_path: Path, fanout: str
) -> None:
    """A browser keeps the prelude's id at once: it must not stand behind a gap that was not told yet."""
    with running_server(tmp_path, recorder=0, history_count=5, **fanout_settings(fanout)) as server:
        left_at = server.publish("seen")["id"]
        for number in range(10):
            server.publish(f"missed {number}")
        with contextlib.closing(
            http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
        ) as client:
            client.request("GET", "/events", headers={"Last-Event-ID": left_at})
            response = client.getresponse()
            received = b""
            while b"event: gap" not in received:
                received += response.read1()

        prelude = received.partition(b"\n\n")[0]
        assert prelude.endswith(f"\nid: {left_at}".encode()), received
