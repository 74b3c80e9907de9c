"""Idempotency keys and what each published, so that a publisher can safely repeat a request without a response."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass

from app.core.errors import Conflict
from app.core.notification import encode_json
from app.core.units import ServerUs
from app.server.broker.base import Draft

KEYS_MAX = 10_000
"""The oldest keys are dropped first; a publisher retries within seconds, not after ten thousand other publishes."""


@dataclass(frozen=True, slots=True)
class Use:
    """The use of a key; everything else about the notification is in the repeated draft itself."""

    fingerprint: str
    offset: int
    due_us: ServerUs
    sent_us: ServerUs
    recipients: dict[str, int]


class Keys:
    """The newest `KEYS_MAX` keys. Callers hold the broker's lock."""

    def __init__(self) -> None:
        self._uses: OrderedDict[str, Use] = OrderedDict()

    def __len__(self) -> int:
        return len(self._uses)

    @property
    def first_offset(self) -> int | None:
        """Offset that the oldest key published."""
        return next(iter(self._uses.values())).offset if self._uses else None

    def find(self, draft: Draft) -> Use | None:
        """Return the earlier use of the draft's key, if any. Raises `Conflict` if it published other content."""
        if draft.idempotency_key is None:
            return None
        use = self._uses.get(draft.idempotency_key)
        if use is not None and use.fingerprint != fingerprint(draft):
            raise Conflict(
                "This idempotency_key was used for another notification; use a new key for a new one."
            )
        return use

    def remember(self, key: str, use: Use) -> None:
        """Store a use; drop the oldest one beyond `KEYS_MAX`."""
        self._uses[key] = use
        if len(self._uses) > KEYS_MAX:
            self._uses.popitem(last=False)


def fingerprint(draft: Draft) -> str:
    """Return a hash of the content that a repeat must share; `due_us` is left out, since a retry may set it anew."""
    devices = draft.targets.devices
    content = [
        draft.title,
        draft.body,
        draft.topic,
        draft.data,
        draft.targets.transport,
        sorted(devices) if devices is not None else None,
        draft.ttl_us,
    ]
    return hashlib.sha256(encode_json(content).encode()).hexdigest()
