"""The service's count of slow consumers that it disconnected."""

from __future__ import annotations

from tests.support.metrics import metric
from tests.support.server import RunningServer


def slow_cuts(server: RunningServer) -> dict[str, int]:
    """Return the number of connections closed as slow consumers, by transport."""
    series = 'siar_closed_connections_total{{reason="slow_consumer",transport="{}"}}'
    counts = {transport: metric(server, series.format(transport)) for transport in ("sse", "socketio")}
    return {transport: round(count) for transport, count in counts.items() if count}
