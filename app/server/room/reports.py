"""What devices last said of themselves, in the room or not: for the operator's table of devices."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.core.units import ServerUs

DEVICES_KEPT_MAX = 1000
"""The one that was silent longest is forgotten first."""

_FIGURES = ("clock_bound_ms", "rtt_ms", "jitter_ms")


@dataclass(slots=True)
class DeviceReport:
    """The newest figures of one device."""

    last_seen_us: int
    name: str | None = None
    clock_bound_ms: float | None = None
    rtt_ms: float | None = None
    jitter_ms: float | None = None


class Reports:
    """Reports by device. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._by_device: OrderedDict[str, DeviceReport] = OrderedDict()
        self._lock = threading.Lock()

    def take(
        self, device: str, said: Mapping[str, Any], *, now_us: ServerUs, name: str | None = None
    ) -> None:
        """Note what a device says; what it leaves out stays as it was."""
        with self._lock:
            found = self._by_device.setdefault(device, DeviceReport(now_us))
            self._by_device.move_to_end(device)
            found.last_seen_us = now_us
            found.name = name or found.name
            for figure in _FIGURES:
                if said.get(figure) is not None:
                    setattr(found, figure, said[figure])
            if len(self._by_device) > DEVICES_KEPT_MAX:
                self._by_device.popitem(last=False)

    def get(self, device: str) -> DeviceReport | None:
        """What `device` said last, if it is known still."""
        return self._by_device.get(device)

    def forget(self, device: str) -> bool:
        """Forget what a device said; whether there was anything."""
        with self._lock:
            return self._by_device.pop(device, None) is not None
