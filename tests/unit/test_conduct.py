"""How a phone behaved, by its own account."""

from __future__ import annotations

import pytest

from app.core.lifecycle import LifecycleReport


def test_who_says_nothing_more_attended_from_beginning_to_end() -> None:
    said = LifecycleReport(3)

    assert (said.disconnects, said.clock_steps, said.reload_count, said.asleep_ms) == (0, 0, 0, 0.0)
    assert (said.expected_count, said.received_count, said.events) == (0, 0, ())


@pytest.mark.parametrize(
    "conduct",
    [
        LifecycleReport(0, hidden_ms=30.0, frozen_ms=20.0, suspended_ms=20.0),
        LifecycleReport(0, hidden_ms=20.0, frozen_ms=30.0, suspended_ms=20.0),
        LifecycleReport(0, hidden_ms=20.0, frozen_ms=20.0, suspended_ms=30.0),
    ],
)
def test_the_longest_absence_counts_whatever_its_reason(conduct: LifecycleReport) -> None:
    assert conduct.asleep_ms == 30.0


def test_only_what_was_loaded_anew_counts_as_a_reload() -> None:
    assert LifecycleReport(0, events=((1.0, "hidden"), (2.0, "reload"), (3.0, "reload"))).reload_count == 2
