"""A connection's account: what is lost, doubled or out of order is noticed, whatever the order."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.tools.bench.connection import SequenceCheck
from app.tools.bench.plan import DIRECT
from app.tools.bench.record import RESOLUTION_US, UNKNOWN_ARRIVAL, Record, WindowResult, quantile_ms
from app.tools.bench.session import BURST_HTTP, BenchCell
from app.tools.bench.window import take_window


@pytest.mark.parametrize(
    ("arrived", "lost", "duplicates", "out_of_order"),
    [
        ([1, 2, 3, 4, 5], 0, 0, 0),
        ([1, 2, 4, 5], 1, 0, 0),
        ([1, 2, 3], 2, 0, 0),
        ([], 5, 0, 0),
        ([1, 2, 2, 3, 4, 5], 0, 1, 0),
        ([1, 3, 2, 4, 5], 0, 0, 1),
        ([1, 3, 2, 2, 5], 1, 1, 1),
        ([5, 4, 3, 2, 1], 0, 0, 4),
        ([0, 1, 2, 3, 4, 5], 0, 1, 0),
    ],
)
def test_every_kind_of_fault_is_counted_as_what_it_is(
    arrived: list[int], lost: int, duplicates: int, out_of_order: int
) -> None:
    tally = SequenceCheck(0)

    tally.check(arrived)

    assert (tally.lost(5), tally.duplicates, tally.out_of_order) == (lost, duplicates, out_of_order)


@given(st.lists(st.integers(1, 30)))
def test_lost_and_duplicates_are_those_of_the_multiset(arrived: list[int]) -> None:
    tally = SequenceCheck(0)

    new = tally.check(arrived)

    assert new == len(set(arrived))
    assert tally.lost(30) == 30 - len(set(arrived))
    assert tally.duplicates == sum(count - 1 for count in Counter(arrived).values())


def test_a_new_window_forgets_the_faults_of_the_one_before() -> None:
    tally = SequenceCheck(0)
    tally.check([1, 3, 3])

    tally.restart()

    assert (tally.lost(3), tally.duplicates) == (0, 0)


def test_a_merged_read_gives_each_notification_its_own_delay() -> None:
    record = Record()
    record.add_each(1_000, 1_050, [7, 8, 9])
    record.add_each(2_000, 2_010, [10])

    arrivals = record.delays(7, [100, 200, 300, 400], merges=True)
    reads = record.read_delays(7, [100, 200, 300, 400])

    assert sorted(arrivals.elements()) == [each // RESOLUTION_US for each in (700, 800, 900, 1_600)]
    assert sorted(reads.elements()) == [each // RESOLUTION_US for each in (750, 850, 950, 1_610)]


def test_what_waited_unread_for_a_later_write_has_no_arrival_of_its_own() -> None:
    """The kernel tells of a read only when its last byte came: earlier ones would seem later than they were."""
    record = Record()
    record.add_each(1_000, 1_050, [7, 8, 9])
    record.add_each(2_000, 2_010, [10, 12])

    found = record.delays(7, [100, 200, 300, 400, 500, 600], merges=False)

    assert sorted(found.elements()) == [each // RESOLUTION_US for each in (700, 1_400, 1_600)]
    assert record.read_delays(7, [100, 200, 300, 400, 500, 600]).total() == 5


def test_what_may_have_come_in_several_writes_has_no_arrival() -> None:
    record = Record()
    record.add_each(UNKNOWN_ARRIVAL, 1_050, [7, 8])
    record.add_each(2_000, 2_010, [9])

    for merges in (True, False):
        found = record.delays(7, [100, 200, 300], merges=merges)
        assert list(found.elements()) == [1_700 // RESOLUTION_US]
    assert record.read_delays(7, [100, 200, 300]).total() == 3


def test_deliveries_outside_of_the_window_have_no_delay() -> None:
    record = Record()
    record.add_each(1_000, 1_000, [6, 7, 8])

    assert record.delays(7, [500], merges=True).total() == record.read_delays(7, [500]).total() == 1


@pytest.mark.parametrize(("share", "expected_ms"), [(0.5, 5.0), (0.99, 10.0), (0.1, 1.0)])
def test_a_quantile_is_the_smallest_delay_that_the_share_does_not_exceed(
    share: float, expected_ms: float
) -> None:
    steps = Counter({round(each * 1000 / RESOLUTION_US): 1 for each in range(1, 11)})

    assert quantile_ms(steps, share) == expected_ms


def test_nothing_delivered_has_no_quantile() -> None:
    assert quantile_ms(Counter(), 0.99) is None


def test_the_answers_of_several_swarms_add_up() -> None:
    result = WindowResult()
    one = {"connections": 2, "lost": 1, "duplicates": 0, "out_of_order": 0, "disconnects": 1, "torn": 1}
    rest = {"reads": 5, "last_read_us": 90, "busy": 0.25, "delays": {"3": 2}, "failures": []}
    rest |= {"idle": 4, "unstamped": 0, "clock_step_us": 3, "read_delays": {"3": 2, "5": 1}}

    result.add({**one, **rest})
    result.add(
        {
            **one,
            **rest,
            "lost": 0,
            "disconnects": 0,
            "torn": 0,
            "last_read_us": 80,
            "delays": {"3": 1, "4": 1},
        }
    )

    assert (result.connections, result.lost, result.last_read_us) == (4, 1, 90)
    assert result.delays == Counter({3: 3, 4: 1})
    assert (result.delivered, result.shared) == (6, 2)
    assert result.problems() == ["1 lost", "1 disconnected", "1 torn"]


def test_a_frame_that_is_none_is_told_in_its_own_words_and_once() -> None:
    """Otherwise it would look like a server that hung up."""
    clean = {
        "connections": 1,
        "lost": 0,
        "duplicates": 0,
        "out_of_order": 0,
        "disconnects": 0,
        "torn": 0,
        "idle": 0,
        "reads": 0,
        "last_read_us": 0,
        "busy": 0.0,
        "unstamped": 0,
        "clock_step_us": 0,
        "read_delays": {},
    }
    result = WindowResult()

    for _ in range(2):
        result.add({**clean, "disconnects": 1, "delays": {}, "failures": ["a frame of 9 bytes ends early"]})

    assert result.problems() == [
        "2 disconnected",
        "what cannot be read came: a frame of 9 bytes ends early",
    ]


@pytest.mark.parametrize(
    ("unstamped", "step_us", "problems"),
    [
        (1, 100, []),
        (2, 0, ["the kernel did not say when 2 of 100 reads had come"]),
        (100, 0, []),
        (0, 101, ["the clock was set by 0.101 ms"]),
    ],
    ids=["few", "some", "a kernel that never says it", "a clock that was set"],
)
def test_times_of_arrival_that_are_none_make_a_window_invalid(
    unstamped: int, step_us: int, problems: list[str]
) -> None:
    result = WindowResult(reads=100, unstamped=unstamped, clock_step_us=step_us)

    assert result.problems() == problems


@pytest.mark.parametrize(("shared", "p99_ms"), [(10, 2.0), (11, None)])
def test_a_window_of_which_too_much_came_unseen_has_no_delay_and_is_valid(
    shared: int, p99_ms: float | None
) -> None:
    known = Counter({round(2_000 / RESOLUTION_US): 100 - shared})
    result = WindowResult(reads=100, delays=known, read_delays=Counter({round(9_000 / RESOLUTION_US): 100}))
    cell = BenchCell(BURST_HTTP, DIRECT, "sse", 100, 0)

    take_window(cell, result, 0, expected=100)

    assert cell.is_valid
    assert (cell.values["p99_ms"], cell.values["read_p99_ms"], cell.values["stamp_shared"]) == (
        p99_ms,
        9.0,
        shared,
    )
