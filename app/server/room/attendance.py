"""Who is in the room, and what they say of themselves: the part of the room that knows no phases."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Literal

from app import clock
from app.core.units import ServerUs
from app.server.room.clean_name import clean_name
from app.server.room.participant import Participant
from app.server.room.reports import Reports
from app.server.room.seats import Seats
from app.server.room.trial import RoomTrial


class Attendance:
    """Participants and their reports. Whatever others can see of it raises `version`."""

    def __init__(self, *, now_us: Callable[[], ServerUs] = clock.now_us) -> None:
        self.lock = threading.RLock()
        """Held by whoever reads several things that must fit together."""
        self.now_us = now_us
        self.version = 0
        self.seats = Seats()
        self.reports = Reports()
        self._quiet_until_us = 0
        """Until then nobody is to be heard of: a trial runs."""
        self._removed: OrderedDict[str, None] = OrderedDict()
        """Devices that were sent away while the room gathered, and gave up their seats."""

    def report(self, device: str, report: Mapping[str, Any]) -> None:
        """Take in what a device says of itself, in the room or not."""
        with self.lock:
            name = clean_name(report.get("name") or "")
            now_us = self.now_us()
            self.reports.take(device, report, now_us=now_us, name=name)
            found = self.seats.get(device)
            if found is None:
                return
            found.last_seen_us = now_us
            changed = found.take(report)
            if name and name != found.name:
                found.name, changed = name, True
            if changed:
                self._changed()

    def here(self) -> list[Participant]:
        """Who has joined and neither left nor was removed, by seat."""
        return [each for each in self.seats if each.is_here]

    def ready_count(self) -> int:
        """How many are ready and were heard of lately."""
        return sum(each.ready and not self.is_away(each) for each in self.here())

    def is_away(self, participant: Participant) -> bool:
        """Whether it was not heard of for too long. During a trial nobody is to be heard of."""
        return participant.is_away(self.now_us(), quiet_until_us=self._quiet_until_us)

    def name_of(self, device: str) -> str | None:
        """What a device is called, if it ever said."""
        participant, said = self.seats.get(device), self.reports.get(device)
        return participant.name if participant else said.name if said else None

    def seat_name(self, device: str) -> str | None:
        """What a participant is called here; `None` for one whose seat is free."""
        participant = self.seats.get(device)
        return participant.name if participant else None

    def was_removed(self, device: str) -> bool:
        """Whether the operator sent `device` away."""
        found = self.seats.get(device)
        return device in self._removed or (found is not None and found.removed)

    def have_said(self, what: Literal["trial_ready", "trial_done"], trial: RoomTrial) -> bool:
        """Whether everybody who takes part and is here has said so of this trial."""
        with self.lock:
            return all(
                getattr(each, what) == trial.index
                for each in self.here()
                if each.device in trial.participants and not self.is_away(each)
            )

    def _changed(self) -> None:
        self.version += 1
