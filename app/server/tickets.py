"""Random secrets that are valid once or for a while; in memory and bounded.

They are stored by their SHA-256, so that the duration of a look-up reveals only the hash and nothing of the secret.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable

SECRET_BYTES = 16
"""128 random bits."""


class Tickets:
    """Secrets that were issued and have not expired; at the bound the oldest is dropped."""

    def __init__(self, *, count_max: int, age_s: float, now_us: Callable[[], int]) -> None:
        self._count_max = count_max
        self._age_us = round(age_s * 1e6)
        self._now_us = now_us
        self._ends_us: OrderedDict[bytes, int] = OrderedDict()
        self._lock = threading.Lock()

    def issue(self) -> str:
        """Create and return a new secret."""
        secret = secrets.token_urlsafe(SECRET_BYTES)
        self.add(secret)
        return secret

    def add(self, secret: str) -> None:
        """Add a secret that was generated elsewhere."""
        with self._lock:
            self._ends_us[_hash(secret)] = self._now_us() + self._age_us
            while len(self._ends_us) > self._count_max:
                self._ends_us.popitem(last=False)

    def is_good(self, secret: str) -> bool:
        """Return whether the secret was issued, is not spent and has not expired."""
        with self._lock:
            ends_us = self._ends_us.get(_hash(secret))
            return ends_us is not None and self._now_us() < ends_us

    def spend(self, secret: str) -> bool:
        """Invalidate the secret; return whether it was valid."""
        with self._lock:
            ends_us = self._ends_us.pop(_hash(secret), None)
            return ends_us is not None and self._now_us() < ends_us


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode(errors="replace")).digest()
