"""Ten minutes with clients that come and go; `python -m tests.tools.soak --minutes 30` is the same for longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.components import without
from tests.fault.herd import room_for
from tests.tools import soak

pytestmark = pytest.mark.nightly


def test_ten_minutes_of_coming_and_going_lose_nothing_and_leave_nothing_behind(tmp_path: Path) -> None:
    if not room_for(2 * soak.CLIENTS):
        without("needs 2,000 connections at each end: raise the limit of open files (ulimit -n)")

    figures = soak.soak(tmp_path, clients=soak.CLIENTS, minutes=10, warm_up_minutes=2)

    print(figures)
    assert figures.missed == []
