"""Ten minutes with clients that come and go; `python -m tests.soak --minutes 30` is the same for longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import soak
from tests.fault.herd import room_for

pytestmark = pytest.mark.nightly


@pytest.mark.skipif(
    not room_for(2 * soak.CLIENTS), reason="ulimit -n is too low for 2,000 connections at each end"
)
def test_ten_minutes_of_coming_and_going_lose_nothing_and_leave_nothing_behind(tmp_path: Path) -> None:
    figures = soak.soak(tmp_path, clients=soak.CLIENTS, minutes=10, warm_up_minutes=2)

    print(figures)
    assert figures.missed == []
