"""What the service tells of the clients that it cut off."""

from __future__ import annotations

from tests.support.metrics import metric
from tests.support.server import RunningServer


def slow_cuts(server: RunningServer) -> dict[str, int]:
    """Connections closed as slow consumers, by transport."""
    series = 'siar_closed_connections_total{{reason="slow_consumer",transport="{}"}}'
    counts = {transport: metric(server, series.format(transport)) for transport in ("sse", "socketio")}
    return {transport: round(count) for transport, count in counts.items() if count}
