"""Five thousand clients that lose their server at once and come back to the next one (herd.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fault import herd

pytestmark = [pytest.mark.alone, pytest.mark.slow]

CLIENTS = 5_000


@pytest.mark.skipif(
    not herd.room_for(CLIENTS), reason="ulimit -n is too low for 5,000 connections at each end"
)
@pytest.mark.parametrize("end", ["kill", "stop"])
def test_five_thousand_clients_come_back_in_bounded_time_and_miss_nothing(tmp_path: Path, end: str) -> None:
    figures = herd.stampede(tmp_path, CLIENTS, end)  # Fails by itself when it takes longer than its bound.

    print(figures)
    assert (figures.faults, figures.gaps) == (0, 0)
    assert figures.back_s_max < herd.TIMEOUT_S
