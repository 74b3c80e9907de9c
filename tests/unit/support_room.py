"""A room whose clock stands until a test moves it, and what tests do with it."""

from __future__ import annotations

from typing import Any

from app.core.units import ServerUs
from app.server.room.phase_machine import COUNTDOWN_US
from app.server.room.phases import Experiment, Phase
from app.server.room.room import Room
from app.server.room.trial import RoomTrial

ONE_MORE_US = 1


class StoppedClock:
    def __init__(self) -> None:
        self.us = ServerUs(1_000_000_000)

    def __call__(self) -> ServerUs:
        return self.us


def move(clock: StoppedClock, us: int) -> None:
    clock.us = ServerUs(clock.us + us)


class Bench:
    """A room that gathers, and what tests do with it."""

    def __init__(self, *, wanted_count: int = 2) -> None:
        self.clock = StoppedClock()
        self.room = Room(now_us=self.clock)
        self.room.open(Experiment("run-1", wanted_count, 60.0))

    def join(self, *devices: str) -> None:
        for device in devices:
            self.room.join(device, name="", model=None, language="en")

    def ready(self, *devices: str) -> None:
        for device in devices:
            self.room.report(device, {"ready": True})

    def pass_time(self, us: int, *, heard_of: tuple[str, ...] = ()) -> None:
        move(self.clock, us)
        for device in heard_of:
            self.room.report(device, {})

    def begin(self, *devices: str) -> None:
        """Up to the running experiment."""
        self.join(*devices)
        self.ready(*devices)
        self.room.start() if self.room.phase is Phase.GATHERING else None
        self.pass_time(COUNTDOWN_US, heard_of=devices)
        assert self.room.phase is Phase.RUNNING

    def seats(self) -> dict[str, int]:
        return {each.device: each.seat for each in self.room.present()}


def trial(*devices: str, **members: Any) -> RoomTrial:
    given: dict[str, Any] = {
        "index": 0,
        "block": 0,
        "clients": len(devices),
        "transport": "sse",
        "expected_count": 3,
        "warmup_count": 1,
        "rate_hz": 5.0,
        "drain_ms": 100,
        "topic": "trial.0",
        "factors": {},
        "state": "connect",
        "participants": frozenset(devices),
    }
    return RoomTrial(**{**given, **members})
