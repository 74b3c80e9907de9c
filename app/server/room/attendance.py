"""Participants of the room and their reports, independent of the room's phases."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from app import clock
from app.core.errors import Unknown
from app.core.units import ServerUs
from app.i18n import refusal
from app.server.room.clean_name import clean_name
from app.server.room.participant import Participant
from app.server.room.seats import PARTICIPANTS_MAX, Seats
from app.server.room.trial import RoomTrial

DEVICES_KEPT_MAX = 1000
"""Beyond it the device that has been silent longest is dropped."""

PARTICIPANT_SILENCE_US = 300_000_000
"""Silence after which a phone is not kept for another experiment; a phone in a pocket polls once a minute."""

_FIGURES = ("clock_bound_ms", "rtt_ms", "jitter_ms")


class Attendance:
    """Participants and their reports. Not thread-safe, except for `reports`: the room's lock guards it."""

    def __init__(self, *, now_us: Callable[[], ServerUs] = clock.now_us) -> None:
        self._now_us = now_us
        self.version = 0
        """Number of changes that others can see."""
        self.seats = Seats()
        self.reports = Reports()
        self.quiet_until_us = 0
        """End of the running trial, until which phones send no reports."""
        self._removed: OrderedDict[str, None] = OrderedDict()
        """Devices that the operator removed while the room gathered; they have no seat any more."""

    def join(self, device: str, *, name: str, model: str | None, language: str) -> Participant:
        """Give `device` a seat, or return it to the one that it had. Raises `Conflict` if the room is full."""
        now_us = self._now_us()
        found = self.seats.get(device)
        if found is None:
            found = self.seats.take(device, name=name, model=model, language=language, now_us=now_us)
        else:
            found.left = False
            found.name = clean_name(name) or found.name
            found.model = model or found.model
            found.last_seen_us = now_us
        self.reports.merge(device, {}, now_us=now_us, name=found.name)
        self.version += 1
        return found

    def leave(self, device: str, *, keep_seat: bool) -> None:
        """Let `device` leave by its own choice, if it has a seat."""
        found = self.seats.get(device)
        if found is None:
            return
        if keep_seat:
            found.left, found.ready = True, False
        else:
            self.seats.free(device)
        self.version += 1

    def remove(self, device: str, *, keep_seat: bool) -> None:
        """Remove a device until `begin_gathering`. Raises `Unknown`."""
        found = self.seats.get(device)
        if found is None:
            raise Unknown(refusal("device_not_in_room", device=device[:64]))
        if keep_seat:
            found.removed, found.ready = True, False
        else:
            self.seats.free(device)
            self._removed[device] = None
            if len(self._removed) > PARTICIPANTS_MAX:
                self._removed.popitem(last=False)
        self.version += 1

    def begin_gathering(self) -> None:
        """Keep only the recently seen participants, with nothing of the previous experiment."""
        remembered_us = self._now_us() - PARTICIPANT_SILENCE_US
        self.seats.keep_only([each for each in self.present() if each.last_seen_us >= remembered_us])
        self._removed.clear()
        self.quiet_until_us = 0

    def select_ready(self) -> None:
        """Let those take part in the experiment who are ready now."""
        for each in self.present():
            each.taking_part = each.ready and not self.is_away(each)

    def report(self, device: str, report: Mapping[str, Any]) -> None:
        """Store a device's report about itself, whether or not it is in the room."""
        name = clean_name(report.get("name") or "")
        now_us = self._now_us()
        self.reports.merge(device, report, now_us=now_us, name=name)
        found = self.seats.get(device)
        if found is None:
            return
        found.last_seen_us = now_us
        changed = found.apply(report)
        if name and name != found.name:
            found.name, changed = name, True
        if changed:
            self.version += 1

    def present(self) -> list[Participant]:
        """Return the participants who have neither left nor been removed, ordered by seat."""
        return [each for each in self.seats if each.is_present]

    def ready_count(self) -> int:
        """Return how many participants are ready and have been heard from recently."""
        return sum(each.ready and not self.is_away(each) for each in self.present())

    def awake_count(self) -> int:
        """Return how many participants have been heard from recently."""
        return sum(not self.is_away(each) for each in self.present())

    def is_away(self, participant: Participant) -> bool:
        """Return whether a participant has been silent for too long. Silence during a trial does not count."""
        return participant.is_away(self._now_us(), quiet_until_us=self.quiet_until_us)

    def name_of(self, device: str) -> str | None:
        """Return a device's name, or `None` if it never gave one."""
        participant, report = self.seats.get(device), self.reports.get(device)
        return participant.name if participant else report.name if report else None

    def seat_name(self, device: str) -> str | None:
        """Return a participant's name in this room, or `None` if the device has no seat."""
        participant = self.seats.get(device)
        return participant.name if participant else None

    def was_removed(self, device: str) -> bool:
        """Return whether the operator removed `device`."""
        found = self.seats.get(device)
        return device in self._removed or (found is not None and found.removed)

    def all_reported(self, what: Literal["trial_ready", "trial_done"], trial: RoomTrial) -> bool:
        """Return whether every present participant of the trial has reported this state for it."""
        return all(
            getattr(each, what) == trial.index
            for each in self.present()
            if each.device in trial.participants and not self.is_away(each)
        )


@dataclass(slots=True)
class DeviceReport:
    """The latest figures of one device."""

    last_seen_us: int
    name: str | None = None
    clock_bound_ms: float | None = None
    rtt_ms: float | None = None
    jitter_ms: float | None = None


class Reports:
    """Latest reports by device. All methods are thread-safe."""

    def __init__(self) -> None:
        self._by_device: OrderedDict[str, DeviceReport] = OrderedDict()
        self._lock = threading.Lock()

    def merge(
        self, device: str, report: Mapping[str, Any], *, now_us: ServerUs, name: str | None = None
    ) -> None:
        """Merge a report into the device's entry; omitted figures stay as they were."""
        with self._lock:
            found = self._by_device.setdefault(device, DeviceReport(now_us))
            self._by_device.move_to_end(device)
            found.last_seen_us = now_us
            found.name = name or found.name
            for figure in _FIGURES:
                if report.get(figure) is not None:
                    setattr(found, figure, report[figure])
            if len(self._by_device) > DEVICES_KEPT_MAX:
                self._by_device.popitem(last=False)

    def get(self, device: str) -> DeviceReport | None:
        """Return the latest report of `device`, or `None`."""
        return self._by_device.get(device)

    def forget(self, device: str) -> bool:
        """Remove a device's report; return whether there was one."""
        with self._lock:
            return self._by_device.pop(device, None) is not None
