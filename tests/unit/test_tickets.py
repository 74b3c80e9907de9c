"""Secrets that open something for a while."""

from __future__ import annotations

import pytest

from app.server.operators import SECRET_BYTES, Tickets

AGE_S = 2.0


class Wall:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.us = 5_000_000

    def now_us(self) -> int:
        return self.us


@pytest.fixture
def wall() -> Wall:
    return Wall()


@pytest.fixture
def tickets(wall: Wall) -> Tickets:
    return Tickets(count_max=3, age_s=AGE_S, now_us=wall.now_us)


def test_a_secret_opens_as_often_as_it_is_shown_and_another_does_not(tickets: Tickets) -> None:
    secret = tickets.issue()

    assert [tickets.is_valid(secret), tickets.is_valid(secret)] == [True, True]
    assert not tickets.is_valid(secret + "x")
    assert not tickets.is_valid("")


def test_secrets_differ_and_have_128_bits(tickets: Tickets) -> None:
    secrets = {tickets.issue() for _ in range(100)}

    assert SECRET_BYTES * 8 == 128
    assert len(secrets) == 100
    assert {len(secret) for secret in secrets} == {22}, "16 bytes in base64"


@pytest.mark.parametrize(("later_us", "is_good"), [(0, True), (1_999_999, True), (2_000_000, False)])
def test_a_secret_is_good_until_its_time_is_over(
    tickets: Tickets, wall: Wall, later_us: int, is_good: bool
) -> None:
    shown, spent = tickets.issue(), tickets.issue()

    wall.us += later_us

    assert tickets.is_valid(shown) is is_good
    assert tickets.spend(spent) is is_good


def test_what_is_spent_is_gone(tickets: Tickets) -> None:
    secret = tickets.issue()

    assert [tickets.spend(secret), tickets.spend(secret), tickets.is_valid(secret)] == [True, False, False]


def test_the_oldest_makes_room_and_no_other(tickets: Tickets) -> None:
    secrets = [tickets.issue() for _ in range(5)]

    assert [tickets.is_valid(secret) for secret in secrets] == [False, False, True, True, True]


def test_a_secret_from_elsewhere_is_accepted(tickets: Tickets) -> None:
    tickets.add("drawn elsewhere \ud800")

    assert tickets.is_valid("drawn elsewhere \ud800")
