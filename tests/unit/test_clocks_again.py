"""Posted offsets are read again from posted probes: what cannot be true is found, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from app.core.clocksync.sync import Probe
from app.lab.analysis.validity.clock_check import check_clocks
from app.store.store import StampedProbe

S = 1_000_000.0

OFFSET_US = 5_000 * S
"""What this phone's clock lacks to the server's."""


def probes(
    offset_us: float = OFFSET_US, *, from_s: float = 0.0, device: str = "d-1", timebase: str = "aa.0"
) -> list[StampedProbe]:
    """A minute of a phone's life, a question each 5 s, 2 ms there and back."""
    return [
        StampedProbe(
            device,
            timebase,
            Probe(at_us, at_us + offset_us + 1_000, at_us + offset_us + 1_010, at_us + 2_010),
        )
        for at_us in ((from_s + second) * S for second in range(0, 60, 5))
    ]


def sample(
    client_s: float, offset_us: float | None = OFFSET_US, *, true_us: float = OFFSET_US
) -> dict[str, Any]:
    """A notification that came as soon as it was due."""
    return {
        "id": f"e.{client_s:g}",
        "device": "d-1",
        "due_us": client_s * S + true_us,
        "received_client_us": client_s * S,
        "clock_offset_us": offset_us,
        "clock_bound_us": None if offset_us is None else 1_500.0,
    }


def test_offsets_within_both_bounds_come_out_again_and_with_probes_on_both_sides_narrower() -> None:
    check = check_clocks([sample(22), sample(33, OFFSET_US + 2_000), sample(34, None)], probes())

    assert (check.count, check.unknown, check.contradicted) == (2, 0, ())
    posted_us, again_us = check.bound_us_p50
    assert (posted_us, again_us < posted_us) == (1_500.0, True)


@pytest.mark.parametrize("wrong_us", [-4_000.0, 4_000.0, 3_600 * S])
def test_an_offset_that_its_probes_exclude_is_found(wrong_us: float) -> None:
    check = check_clocks([sample(22), sample(33, OFFSET_US + wrong_us)], probes())

    assert check.contradicted == ("e.33 of d-1",)


def test_a_page_that_was_loaded_anew_has_another_clock() -> None:
    anew_us = OFFSET_US + 62 * S
    both = [*probes(), *probes(anew_us)]

    check = check_clocks([sample(22), sample(22, anew_us, true_us=anew_us)], both)

    assert (check.count, check.contradicted) == (2, ())


@pytest.mark.parametrize("second", [1, 22, 50, 54])
def test_each_arrival_is_read_by_the_clock_that_was_in_use_when_it_was_due(second: int) -> None:
    """The page is loaded anew right behind its first life: from then on its clock begins again."""
    anew_us = OFFSET_US + 62 * S
    both = [*probes(), *probes(anew_us)]

    check = check_clocks([sample(second), sample(second, anew_us, true_us=anew_us)], both)

    assert (check.count, check.unknown, check.contradicted) == (2, 0, ())


def test_where_no_probe_is_near_nothing_is_claimed() -> None:
    check = check_clocks([sample(500)], probes())

    assert (check.count, check.unknown, check.contradicted) == (0, 1, ())
    assert check_clocks([sample(22)], []).unknown == 1
