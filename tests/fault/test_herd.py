"""Five thousand clients that lose their server at once and come back to the next one (herd.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.components import without
from tests.fault import herd

pytestmark = [pytest.mark.alone, pytest.mark.nightly]

CLIENTS = 5_000

WAITS_MS = {"kill": (500, 1500, 800), "stop": (1000, 3000, 1000)}
"""What event streams are told, in their first block, and another time by a server that ends in order: the least, the
most, and how many different ones of the 1,001 and 2,001 there are."""


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_five_thousand_clients_come_back_in_bounded_time_and_miss_nothing(tmp_path: Path, end: str) -> None:
    if not herd.room_for(CLIENTS):
        without(f"needs {CLIENTS} connections at each end of this machine (ulimit -n 7000)")

    figures = herd.stampede(tmp_path, CLIENTS, end)  # Fails by itself when it takes longer than its bound.

    print(figures)
    assert (figures.faults, figures.gaps) == (0, 0)
    assert figures.back_s_max < herd.TIMEOUT_S
    shortest_ms, longest_ms, different = figures.waits_ms
    least_ms, most_ms, different_min = WAITS_MS[end]
    assert least_ms <= shortest_ms < longest_ms <= most_ms
    assert different > different_min, "event streams come back each at a moment of its own"
