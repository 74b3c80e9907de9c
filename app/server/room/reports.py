"""The latest report of each device, in the room or not, for the operator's table of devices."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.core.units import ServerUs

DEVICES_KEPT_MAX = 1000
"""Beyond it the device that has been silent longest is dropped."""

_FIGURES = ("clock_bound_ms", "rtt_ms", "jitter_ms")


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

    def take(
        self, device: str, said: Mapping[str, Any], *, now_us: ServerUs, name: str | None = None
    ) -> None:
        """Merge a report into the device's entry; omitted figures stay as they were."""
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
        """Return the latest report of `device`, or `None`."""
        return self._by_device.get(device)

    def forget(self, device: str) -> bool:
        """Remove a device's report; return whether there was one."""
        with self._lock:
            return self._by_device.pop(device, None) is not None
