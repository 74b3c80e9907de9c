"""Receipts of the operator's latest notifications: which devices got them and how fast, from what devices post."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.core.errors import Unknown
from app.core.notification import Notification
from app.i18n import refusal

RECEIPTS_KEPT_MAX = 100

DEVICES_MAX = 1000
"""Devices listed per receipt; beyond it they are only counted."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A device's report about one notification."""

    device: str
    transport: str
    delay_ms: float | None
    """Time from due to arrival; `None` if the device's clock was not synchronised."""
    bound_ms: float | None
    """Upper bound of the error of `delay_ms`."""
    outcome: str


@dataclass(slots=True)
class Receipt:
    """The known deliveries of one notification."""

    id: str
    due_us: int
    recipients_count: int
    """Number of connections that got it when it was published."""
    arrivals: dict[str, Arrival] = field(default_factory=dict)
    """The first report of each device."""
    delivered_count: int = 0

    @property
    def slowest(self) -> Arrival | None:
        """Return the live arrival with the longest delay. A replayed one would only say when a phone reconnected."""
        timed = [
            each
            for each in list(self.arrivals.values())  # A copy: other threads may add to it.
            if each.delay_ms is not None and each.outcome != "replayed"
        ]
        return max(timed, key=lambda each: each.delay_ms or 0.0, default=None)


class Receipts:
    """The newest receipts by notification. All methods are thread-safe."""

    def __init__(self) -> None:
        self._by_id: OrderedDict[str, Receipt] = OrderedDict()
        self._lock = threading.Lock()

    def published(self, notification: Notification, recipients: Mapping[str, int]) -> None:
        """Create the receipt of a published notification."""
        receipt = Receipt(notification.id, notification.due_us, sum(recipients.values()))
        with self._lock:
            self._by_id.setdefault(notification.id, receipt)
            if len(self._by_id) > RECEIPTS_KEPT_MAX:
                self._by_id.popitem(last=False)

    def arrived(self, device: str, samples: Iterable[Mapping[str, Any]]) -> None:
        """Add a device's samples to their receipts; samples of other notifications are skipped."""
        with self._lock:
            for sample in samples:
                receipt = self._by_id.get(sample["id"])
                if receipt is not None and device not in receipt.arrivals:
                    receipt.delivered_count += 1
                    if len(receipt.arrivals) < DEVICES_MAX:
                        receipt.arrivals[device] = _arrival(device, sample, due_us=receipt.due_us)

    def get(self, id: str) -> Receipt:
        """Return the receipt of a notification. Raises `Unknown`."""
        found = self._by_id.get(id)
        if found is None:
            raise Unknown(refusal("receipt_unknown", id=id[:64], count=RECEIPTS_KEPT_MAX))
        return found

    def forget(self, device: str) -> int:
        """Remove a device from every receipt; return from how many."""
        with self._lock:
            return sum(each.arrivals.pop(device, None) is not None for each in self._by_id.values())


def _arrival(device: str, sample: Mapping[str, Any], *, due_us: int) -> Arrival:
    """Return the arrival of a sample, with its delay from the server's own due time rather than the device's."""
    offset_us, bound_us = sample.get("clock_offset_us"), sample.get("clock_bound_us")
    delay_ms = None if offset_us is None else (sample["received_client_us"] + offset_us - due_us) / 1000
    return Arrival(
        device,
        sample["transport"],
        delay_ms,
        None if bound_us is None else bound_us / 1000,
        sample["outcome"],
    )
