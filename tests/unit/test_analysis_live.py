"""What phones posted, summed up: only what may be used is used, and nothing else disappears."""

from __future__ import annotations

from typing import Any

from app.lab.analysis.descriptive.live import live_rows


def sample(number: int, **change: Any) -> dict[str, Any]:
    return {
        "device": "d-1",
        "id": f"e.{number}",
        "transport": "sse",
        "due_us": 1_000_000,
        "received_client_us": 500.0 + number * 1000,
        "clock_offset_us": 999_500.0,
        "clock_bound_us": 400.0,
        "state": "ok",
        "outcome": "on_time",
    } | change


def test_the_median_is_of_what_was_due_and_arrived_with_a_clock() -> None:
    (row,) = live_rows([sample(number) for number in range(1, 4)])

    assert row.delay_ms_p50 == 2.0
    assert row.clock_bound_ms == 0.4
    assert row.delay_ms_p95 is None, "three notifications support no p95"


def test_what_is_not_used_is_counted_with_its_reason() -> None:
    (row,) = live_rows(
        [
            sample(1),
            sample(2, state="hidden"),
            sample(3, state="no_clock", clock_offset_us=None, clock_bound_us=None),
            sample(4, outcome="replayed", state="replay"),
            sample(1, outcome="duplicate"),
            sample(5, outcome="late"),
        ]
    )

    assert (row.arrivals, row.used) == (6, 2)
    assert row.left_out == {"hidden": 1, "no_clock": 1}
    assert (row.late, row.replayed, row.duplicates) == (1, 1, 1)


def test_the_bound_that_is_told_is_the_widest_of_those_used() -> None:
    wide_and_unused = sample(4, state="wide_u", clock_bound_us=9_000.0)

    (row,) = live_rows([sample(1), sample(2, clock_bound_us=700.0), sample(3), wide_and_unused])
    (none,) = live_rows([sample(1, clock_bound_us=None)])

    assert row.clock_bound_ms == 0.7
    assert (none.clock_bound_ms, none.used, none.left_out) == (None, 0, {"no_clock": 1})


def test_each_transport_has_its_row_and_devices_are_counted_once() -> None:
    rows = live_rows([sample(1), sample(2, device="d-2"), sample(3, transport="socketio")])

    assert [(row.transport, row.devices) for row in rows] == [("sse", 2), ("socketio", 1)]


def test_nothing_posted_gives_no_row() -> None:
    assert live_rows([]) == ()
