"""Limits on open subscriptions, in total and per client network, shared by all transports."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Literal, get_args

from app.core.errors import SiarError
from app.core.forwarded import parse_address
from app.core.network_of import network_of

Refused = Literal["server_full", "address_full"]
"""The values of the label `reason` of siar_refused_connections_total."""


class TooManyConnections(SiarError):
    """A limit on connections is reached, the server's or the address's."""

    def __init__(self, sentence: str, *, reason: Refused, count_max: int) -> None:
        super().__init__(sentence)
        self.reason = reason
        self.count_max = count_max


class Admission:
    """Counts connections against two limits. Every `enter` that does not raise needs one `leave`."""

    def __init__(self, *, count_max: int, per_address_max: int, loopback_is_exempt: bool = True) -> None:
        self._count_max = count_max
        self._per_address_max = per_address_max
        self._loopback_is_exempt = loopback_is_exempt
        self._by_address: Counter[str] = Counter()
        self.count = 0
        """Connections that are open now."""
        self.refused: dict[Refused, int] = dict.fromkeys(get_args(Refused), 0)
        """Count of refused connections by reason."""
        self._lock = threading.Lock()

    def enter(self, address: str) -> None:
        """Count a connection. Raises `TooManyConnections`."""
        with self._lock:
            try:
                self._check(address)
            except TooManyConnections as error:
                self.refused[error.reason] += 1
                raise
            self.count += 1
            self._by_address[network_of(address)] += 1

    def check(self, address: str) -> None:
        """Raise what `enter` would raise, without counting a connection or a refusal."""
        with self._lock:
            self._check(address)

    def leave(self, address: str) -> None:
        """Release a connection."""
        with self._lock:
            self.count -= 1
            client = network_of(address)
            self._by_address[client] -= 1
            if not self._by_address[client]:
                del self._by_address[client]

    def _check(self, address: str) -> None:
        if self.count >= self._count_max:
            raise TooManyConnections(
                f"This server holds {self._count_max} connections, as many as it may "
                "(SIAR_CONNECTIONS_MAX); try again later.",
                reason="server_full",
                count_max=self._count_max,
            )
        if self._by_address[network_of(address)] >= self._per_address_max and not self._is_exempt(address):
            raise TooManyConnections(
                f"Your address holds {self._per_address_max} connections, as many as one may "
                "(SIAR_CONNECTIONS_PER_ADDRESS_MAX).",
                reason="address_full",
                count_max=self._per_address_max,
            )

    def _is_exempt(self, address: str) -> bool:
        parsed = parse_address(address)
        # A Unix socket has no address.
        return self._loopback_is_exempt and (parsed is None or parsed.is_loopback)
