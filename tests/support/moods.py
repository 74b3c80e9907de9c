"""Subscribers that behave randomly, like phones on a bad network: read, stall, trickle, reset, leave, reconnect."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator

from tests.support.swarm import Subscriber, Swarm

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
