"""What the service tells of the clients that it cut off."""

from __future__ import annotations

from tests.support.server import RunningServer


def slow_cuts(server: RunningServer) -> dict[str, int]:
    """Connections closed as slow consumers, by transport."""
    _status, text = server.request("GET", "/metrics")
    found = {}
    for line in str(text).splitlines():
        if line.startswith("siar_closed_connections_total") and 'reason="slow_consumer"' in line:
            found["sse" if 'transport="sse"' in line else "socketio"] = int(float(line.split()[-1]))
    return found
