"""What a server counts of itself, read from its `/metrics` page."""

from __future__ import annotations

import time

from tests.support.server import RunningServer

NOTICE_S_MAX = 15.0
"""For what the server notices at once: the kernel tells it in microseconds. Without its word nobody would be missed before
a ping had been, 45 s later by the settings' defaults, so that this shows the same, with room for a busy machine."""


def metric(server: RunningServer, series: str) -> float:
    """A series as the page writes it, `name{label="value"}`; by the name alone, all of that name together.

    0.0 where nothing has been counted yet. A name that the page does not know at all fails the test: it would be 0 for ever.
    """
    _status, page = server.request("GET", "/metrics")
    name, brace, _labels = series.partition("{")
    assert f"# TYPE {name} " in page, page
    beginnings = (f"{series} ",) if brace else (f"{name} ", f"{name}{{")
    lines = (line for line in page.splitlines() if line.startswith(beginnings))
    return sum((float(line.rpartition(" ")[2]) for line in lines), 0.0)


def await_metric(server: RunningServer, series: str, value: float) -> None:
    """Until it is so, which is noticed at once."""
    asked_s = time.monotonic()
    while (found := metric(server, series)) != value:
        assert time.monotonic() - asked_s < NOTICE_S_MAX, f"{series} is {found}, not {value}"


def subscribed(server: RunningServer, transport: str) -> float:
    """Open subscriptions over a transport."""
    return metric(server, f'siar_connections{{transport="{transport}"}}')
