"""Places for connections, and rates."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.rate import NETWORKS_MAX, Rate, SharedRate, advance, wait_us
from app.server.wsgi.admission import Admission, TooManyConnections


def test_one_address_cannot_take_all_places() -> None:
    admission = Admission(count_max=10, per_address_max=2)
    admission.enter("192.0.2.1")
    admission.enter("192.0.2.1")

    with pytest.raises(TooManyConnections, match="Your address"):
        admission.enter("192.0.2.1")
    admission.enter("192.0.2.2")

    assert admission.count == 3
    assert admission.refused == {"server_full": 0, "address_full": 1}


def test_the_server_as_a_whole_has_a_limit_too() -> None:
    admission = Admission(count_max=2, per_address_max=2)
    admission.enter("192.0.2.1")
    admission.enter("192.0.2.2")

    with pytest.raises(TooManyConnections, match="SIAR_CONNECTIONS_MAX"):
        admission.enter("192.0.2.3")

    admission.leave("192.0.2.1")
    admission.enter("192.0.2.3")


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1", ""])
def test_load_from_the_same_machine_is_not_limited_by_address(address: str) -> None:
    admission = Admission(count_max=10, per_address_max=1)

    for _ in range(5):
        admission.enter(address)

    assert admission.count == 5


def test_behind_a_proxy_loopback_is_no_exemption() -> None:
    admission = Admission(count_max=10, per_address_max=1, loopback_is_exempt=False)
    admission.enter("127.0.0.1")

    with pytest.raises(TooManyConnections):
        admission.enter("127.0.0.1")


def test_an_address_without_connections_is_forgotten() -> None:
    admission = Admission(count_max=10, per_address_max=1)
    for number in range(100):
        admission.enter(f"198.51.100.{number}")
        admission.leave(f"198.51.100.{number}")

    assert admission._by_address == {}


@given(st.lists(st.integers(0, 2_000_000), max_size=60), st.integers(1, 20), st.integers(1, 10))
def test_no_window_holds_more_than_the_rate_and_the_burst(
    pauses_us: list[int], per_s: int, burst: int
) -> None:
    rate = Rate(per_s=per_s, burst=burst)
    now_us = 1_000_000
    allowed_us = []
    for pause_us in pauses_us:
        now_us += pause_us
        if rate.wait_us(now_us) == 0:
            allowed_us.append(now_us)

    for first, start_us in enumerate(allowed_us):
        for count, end_us in enumerate(allowed_us[first:], start=1):
            assert count <= burst + (end_us - start_us) * per_s / 1e6 + 1e-6


def test_after_a_burst_the_next_event_is_allowed_at_its_time_and_not_a_microsecond_earlier() -> None:
    rate, now_us = Rate(per_s=0.5, burst=3), 10_000_000

    assert [rate.wait_us(now_us) for _ in range(3)] == [0, 0, 0]

    # One in two seconds. What a wait is told as may be a microsecond longer, so that rounding never makes it shorter.
    assert rate.wait_us(now_us) == 2_000_001
    assert rate.wait_us(now_us + 1_999_999) > 0
    assert rate.wait_us(now_us + 2_000_000) == 0
    assert rate.wait_us(now_us + 3_999_999) > 0
    assert rate.wait_us(now_us + 4_000_000) == 0


def test_a_long_rest_allows_a_burst_and_no_more() -> None:
    rate = Rate(per_s=10, burst=2)
    rate.wait_us(0)

    assert [rate.wait_us(3_600_000_000) == 0 for _ in range(3)] == [True, True, False]


@given(st.integers(1, 1000), st.integers(1, 50))
def test_an_event_after_the_returned_wait_is_allowed(per_s: int, burst: int) -> None:
    rate = Rate(per_s=per_s, burst=burst)
    now_us = 5_000_000
    while (wait_us := rate.wait_us(now_us)) == 0:
        pass

    assert rate.wait_us(now_us + wait_us - 2) > 0
    assert rate.wait_us(now_us + wait_us) == 0


@given(
    st.lists(st.tuples(st.integers(0, 2_000_000), st.integers(1, 12)), max_size=60),
    st.sampled_from(
        [1, 2, 4, 5, 8, 10, 20]
    ),  # With a pause in whole microseconds, so that nothing is rounded.
    st.integers(1, 10),
)
def test_several_events_at_once_are_limited_like_single_ones(
    asked: list[tuple[int, int]], per_s: int, burst: int
) -> None:
    """All of a batch is counted or nothing."""
    together, one_by_one = (Rate(per_s=per_s, burst=burst) for _ in range(2))
    now_us = 1_000_000
    for pause_us, count in asked:
        now_us += pause_us
        wait_us = together.wait_us(now_us, count)
        if wait_us == 0:
            assert [one_by_one.wait_us(now_us) for _ in range(count)] == [0] * count
        elif count <= burst:
            now_us += wait_us
            assert together.wait_us(now_us, count) == 0
            assert [one_by_one.wait_us(now_us) for _ in range(count)] == [0] * count


@given(st.lists(st.integers(0, 2_000_000), max_size=60), st.sampled_from([1, 2, 4, 5, 8, 10, 20]))
def test_one_number_limits_as_the_object_does(pauses_us: list[int], per_s: int) -> None:
    rate, theoretical_us, interval_us = Rate(per_s=per_s, burst=3), 0.0, 1_000_000 // per_s
    now_us = 1_000_000
    for pause_us in pauses_us:
        now_us += pause_us
        is_allowed = wait_us(theoretical_us, now_us, 2 * interval_us) == 0
        counted_us = advance(theoretical_us, now_us, interval_us)

        assert is_allowed == (rate.wait_us(now_us) == 0)
        assert is_allowed == (wait_us(counted_us, now_us, 3 * interval_us) == 0)
        if is_allowed:
            theoretical_us = counted_us


def test_more_events_at_once_than_the_burst_are_never_allowed() -> None:
    rate = Rate(per_s=10, burst=3)

    assert rate.wait_us(0, 4) > 0
    assert rate.wait_us(3_600_000_000, 4) > 0
    assert rate.wait_us(3_600_000_000, 3) == 0


def test_steady_requests_of_one_network_leave_quota_to_the_others() -> None:
    rate = SharedRate(per_s=0.5, burst=30, network_per_s=0.25, network_burst=20)
    minutes_us = range(0, 600_000_000, 100_000)
    let = sum(rate.wait_us("greedy", now_us) == 0 for now_us in minutes_us)

    others = [rate.wait_us(f"phone-{number}", 600_000_000) for number in range(10)]

    assert let == 20 + 149
    assert others == [0] * 10


def test_the_global_limit_holds_for_any_number_of_networks() -> None:
    rate = SharedRate(per_s=0.5, burst=30, network_per_s=0.25, network_burst=20)

    let = sum(rate.wait_us(f"network-{number}", 0) == 0 for number in range(2 * NETWORKS_MAX))

    assert let == 30
    assert rate.wait_us(None, 0) > 0
