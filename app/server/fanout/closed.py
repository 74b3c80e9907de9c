"""The reasons why a subscription ended: the values of the label `reason` of siar_closed_connections_total."""

from __future__ import annotations

from typing import Final, Literal, get_args

Closed = Literal[
    "client_closed",
    "connection_lost",
    "history_broken",
    "operator",
    "protocol_error",
    "server_closed",
    "server_drain",
    "slow_consumer",
]

CLOSED_BY_CLIENT: Final = "client_closed"
CLOSED_BY_SERVER: Final = "server_closed"
"""The session ended for a reason other than those below."""
CLOSED_DRAIN: Final = "server_drain"
CLOSED_HISTORY: Final = "history_broken"
"""History has a hole: the client is disconnected, and learns of the gap when it reconnects."""
CLOSED_LOST: Final = "connection_lost"
"""The kernel gave up: a reset, or a peer that acknowledged nothing for TCP_USER_TIMEOUT."""
CLOSED_OPERATOR: Final = "operator"
CLOSED_PROTOCOL: Final = "protocol_error"
CLOSED_SLOW: Final = "slow_consumer"

CLOSED: tuple[Closed, ...] = get_args(Closed)
