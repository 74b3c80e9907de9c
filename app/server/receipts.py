"""What became of the operator's last notifications: who got each, how fast, by what the devices post."""

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
"""Per receipt; beyond it devices are counted and not listed."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A device's word on one notification."""

    device: str
    transport: str
    delay_ms: float | None
    """From when it was due to when it arrived; `None` where the device did not know the time."""
    bound_ms: float | None
    """The most by which `delay_ms` can be off."""
    outcome: str


@dataclass(slots=True)
class Receipt:
    """What is known of one notification."""

    id: str
    due_us: int
    recipients_count: int
    """Connections that it was handed to when it was published."""
    arrivals: dict[str, Arrival] = field(default_factory=dict)
    """The first of each device."""
    delivered_count: int = 0

    @property
    def slowest(self) -> Arrival | None:
        """The arrival with the longest delay of those that came live; one from history says when a phone came back."""
        timed = [
            each
            for each in list(self.arrivals.values())  # Others may be posting theirs.
            if each.delay_ms is not None and each.outcome != "replayed"
        ]
        return max(timed, key=lambda each: each.delay_ms or 0.0, default=None)


class Receipts:
    """The newest receipts, by notification. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._by_id: OrderedDict[str, Receipt] = OrderedDict()
        self._lock = threading.Lock()

    def published(self, notification: Notification, recipients: Mapping[str, int]) -> None:
        """A notification was handed out."""
        receipt = Receipt(notification.id, notification.due_us, sum(recipients.values()))
        with self._lock:
            self._by_id.setdefault(notification.id, receipt)
            if len(self._by_id) > RECEIPTS_KEPT_MAX:
                self._by_id.popitem(last=False)

    def arrived(self, device: str, samples: Iterable[Mapping[str, Any]]) -> None:
        """A device posted samples; those of other notifications are passed over."""
        with self._lock:
            for sample in samples:
                receipt = self._by_id.get(sample["id"])
                if receipt is not None and device not in receipt.arrivals:
                    receipt.delivered_count += 1
                    if len(receipt.arrivals) < DEVICES_MAX:
                        receipt.arrivals[device] = _arrival(device, sample, due_us=receipt.due_us)

    def get(self, id: str) -> Receipt:
        """The receipt of a notification. Raises `Unknown`."""
        found = self._by_id.get(id)
        if found is None:
            raise Unknown(refusal("receipt_unknown", id=id[:64], count=RECEIPTS_KEPT_MAX))
        return found

    def forget(self, device: str) -> int:
        """Take a device out of every receipt; of how many."""
        with self._lock:
            return sum(each.arrivals.pop(device, None) is not None for each in self._by_id.values())


def _arrival(device: str, sample: Mapping[str, Any], *, due_us: int) -> Arrival:
    """Counted from the server's own due time, whatever the device says that it was."""
    offset_us, bound_us = sample.get("clock_offset_us"), sample.get("clock_bound_us")
    delay_ms = None if offset_us is None else (sample["received_client_us"] + offset_us - due_us) / 1000
    return Arrival(
        device,
        sample["transport"],
        delay_ms,
        None if bound_us is None else bound_us / 1000,
        sample["outcome"],
    )
