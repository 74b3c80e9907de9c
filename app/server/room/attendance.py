"""Participants of the room and their reports: the part of the room that is independent of its phases."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from app import clock
from app.core.units import ServerUs
from app.server.room.clean_name import clean_name
from app.server.room.participant import Participant
from app.server.room.seats import Seats
from app.server.room.trial import RoomTrial

DEVICES_KEPT_MAX = 1000
"""Beyond it the device that has been silent longest is dropped."""

_FIGURES = ("clock_bound_ms", "rtt_ms", "jitter_ms")


class Attendance:
    """Participants and their reports. Each visible change increments `version`."""

    def __init__(self, *, now_us: Callable[[], ServerUs] = clock.now_us) -> None:
        self.lock = threading.RLock()
        """Held by readers of several values that must be consistent."""
        self.now_us = now_us
        self.version = 0
        self.seats = Seats()
        self.reports = Reports()
        self._quiet_until_us = 0
        """End of the running trial, until which phones send no reports."""
        self._removed: OrderedDict[str, None] = OrderedDict()
        """Devices that the operator removed while the room gathered; they have no seat any more."""

    def report(self, device: str, report: Mapping[str, Any]) -> None:
        """Store a device's report about itself, whether or not it is in the room."""
        with self.lock:
            name = clean_name(report.get("name") or "")
            now_us = self.now_us()
            self.reports.merge(device, report, now_us=now_us, name=name)
            found = self.seats.get(device)
            if found is None:
                return
            found.last_seen_us = now_us
            changed = found.apply(report)
            if name and name != found.name:
                found.name, changed = name, True
            if changed:
                self._changed()

    def present(self) -> list[Participant]:
        """Return the participants who have neither left nor been removed, ordered by seat."""
        return [each for each in self.seats if each.is_present]

    def ready_count(self) -> int:
        """Return how many participants are ready and have been heard from recently."""
        return sum(each.ready and not self.is_away(each) for each in self.present())

    def is_away(self, participant: Participant) -> bool:
        """Return whether a participant has been silent for too long. Silence during a trial does not count."""
        return participant.is_away(self.now_us(), quiet_until_us=self._quiet_until_us)

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
        with self.lock:
            return all(
                getattr(each, what) == trial.index
                for each in self.present()
                if each.device in trial.participants and not self.is_away(each)
            )

    def _changed(self) -> None:
        self.version += 1


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
