"""A server's metrics, read from its `/metrics` page."""

from __future__ import annotations

import time

from tests.support.server import RunningServer

NOTICE_S_MAX = 15.0
"""Timeout for what the server notices at once, through the kernel. Otherwise a missing client would be noticed by a
ping only, after 45 s with default settings, so that this bound shows the difference even on a busy machine."""


def metric(server: RunningServer, series: str) -> float:
    """Return a series as written on the page, `name{label="value"}`; for a name alone, the sum over its labels.

    Returns 0.0 if nothing has been counted yet. A name that is missing on the page fails the test, as it would stay 0.
    """
    _status, page = server.request("GET", "/metrics")
    name, brace, _labels = series.partition("{")
    assert f"# TYPE {name} " in page, page
    beginnings = (f"{series} ",) if brace else (f"{name} ", f"{name}{{")
    lines = (line for line in page.splitlines() if line.startswith(beginnings))
    return sum((float(line.rpartition(" ")[2]) for line in lines), 0.0)


def await_metric(server: RunningServer, series: str, value: float) -> None:
    """Wait until the series has this value, which must happen at once."""
    asked_s = time.monotonic()
    while (found := metric(server, series)) != value:
        assert time.monotonic() - asked_s < NOTICE_S_MAX, f"{series} is {found}, not {value}"


def subscribed(server: RunningServer, transport: str) -> float:
    """Return the number of open subscriptions on a transport."""
    return metric(server, f'siar_connections{{transport="{transport}"}}')


def slow_cuts(server: RunningServer) -> dict[str, int]:
    """Return the number of connections closed as slow consumers, by transport."""
    series = 'siar_closed_connections_total{{reason="slow_consumer",transport="{}"}}'
    counts = {transport: metric(server, series.format(transport)) for transport in ("sse", "socketio")}
    return {transport: round(count) for transport, count in counts.items() if count}
