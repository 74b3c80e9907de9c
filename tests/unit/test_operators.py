"""Links open one session each, sessions end, and whoever guesses waits."""

from __future__ import annotations

import secrets

import pytest

from app.server.auth_throttle import ADDRESSES_MAX, FAILURES_MAX, TooManyGuesses
from app.server.operators import (
    LINK_S,
    LINKS_MAX,
    SESSION_S,
    SESSIONS_MAX,
    Operators,
    WrongKey,
)

HERE = "192.168.1.7"


class Stopped:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now_us = 1_000_000

    def __call__(self) -> int:
        return self.now_us

    def pass_s(self, seconds: float) -> None:
        self.now_us += round(seconds * 1e6)


@pytest.fixture
def clock() -> Stopped:
    return Stopped()


@pytest.fixture
def operators(clock: Stopped) -> Operators:
    return Operators(token="right", first_key="printed", now_us=clock)


def guess_wrong(operators: Operators, times: int, address: str = HERE) -> None:
    for _ in range(times):
        assert not operators.is_token("wrong", address=address)


def test_a_link_opens_one_session_and_no_second(operators: Operators) -> None:
    session = operators.sign_in("printed", address=HERE)

    assert operators.is_session(session)
    with pytest.raises(WrongKey, match="siar link"):
        operators.sign_in("printed", address=HERE)


def test_a_link_that_is_too_old_opens_nothing(operators: Operators, clock: Stopped) -> None:
    key = operators.new_link_key()
    clock.pass_s(LINK_S)

    with pytest.raises(WrongKey):
        operators.sign_in(key, address=HERE)


def test_a_session_ends_by_time_and_by_signing_out(operators: Operators, clock: Stopped) -> None:
    first, second = operators.new_session(), operators.new_session()
    operators.sign_out(first)

    assert not operators.is_session(first)
    assert operators.is_session(second)
    clock.pass_s(SESSION_S)
    assert not operators.is_session(second)


@pytest.mark.parametrize("cookie", [None, "", "guessed", "\udcff", "x" * 10_000])
def test_what_is_no_session_is_none(operators: Operators, cookie: str | None) -> None:
    assert not operators.is_session(cookie)


def test_of_too_many_links_and_sessions_the_oldest_go(operators: Operators) -> None:
    links = [operators.new_link_key() for _ in range(LINKS_MAX + 1)]
    sessions = [operators.new_session() for _ in range(SESSIONS_MAX + 1)]

    assert [operators.is_session(each) for each in sessions] == [False] + [True] * SESSIONS_MAX
    assert operators.is_session(operators.sign_in(links[-1], address=HERE))
    with pytest.raises(WrongKey):
        operators.sign_in(links[0], address=HERE)


def test_after_five_wrong_tokens_the_right_one_waits_for_the_rest_of_the_minute(
    operators: Operators, clock: Stopped
) -> None:
    guess_wrong(operators, FAILURES_MAX)
    clock.pass_s(20)

    with pytest.raises(TooManyGuesses) as refused:
        operators.is_token("right", address=HERE)
    assert refused.value.wait_s == 40
    clock.pass_s(40)
    assert operators.is_token("right", address=HERE)


def test_wrong_links_and_wrong_tokens_count_together(operators: Operators) -> None:
    guess_wrong(operators, FAILURES_MAX - 1)
    with pytest.raises(WrongKey):
        operators.sign_in("wrong", address=HERE)

    with pytest.raises(TooManyGuesses):
        operators.sign_in("printed", address=HERE)


def test_wrong_tokens_that_come_slowly_never_wait(operators: Operators, clock: Stopped) -> None:
    for _ in range(3 * FAILURES_MAX):
        guess_wrong(operators, 1)
        clock.pass_s(15)

    assert operators.is_token("right", address=HERE)


def test_the_server_s_own_runner_never_waits_for_a_guesser_on_its_machine(operators: Operators) -> None:
    guess_wrong(operators, FAILURES_MAX)

    assert operators.is_token(operators.runner_token, address=HERE)


def test_one_guesser_does_not_make_others_wait(operators: Operators) -> None:
    guess_wrong(operators, FAILURES_MAX)

    assert operators.is_token("right", address="192.168.1.8")


def test_the_addresses_of_one_ipv6_customer_are_one_guesser(operators: Operators) -> None:
    for number in range(FAILURES_MAX):
        guess_wrong(operators, 1, f"2001:db8::{number:x}")

    with pytest.raises(TooManyGuesses):
        operators.is_token("right", address="2001:db8::ffff")
    assert operators.is_token("right", address="2001:db8:0:1::1")


def test_no_token_is_no_guess(operators: Operators) -> None:
    for _ in range(3 * FAILURES_MAX):
        assert not operators.is_token("", address=HERE)

    assert operators.is_token("right", address=HERE)


def test_guessers_are_remembered_up_to_a_bound(operators: Operators) -> None:
    guess_wrong(operators, FAILURES_MAX)
    for number in range(ADDRESSES_MAX):
        guess_wrong(operators, 1, f"10.0.{number // 256}.{number % 256}")

    assert operators.is_token("right", address=HERE)


def test_a_guesser_at_the_operators_address_does_not_lock_out_a_long_token(
    clock: Stopped,
) -> None:
    """Clients of one proxy or router have one address, and 128 random bits cannot be guessed at any speed."""
    drawn = secrets.token_urlsafe(24)
    operators = Operators(token=drawn, now_us=clock)
    key = operators.new_link_key()
    for _ in range(FAILURES_MAX):
        operators.is_token("wrong", address=HERE)

    session = operators.sign_in(key, address=HERE)

    assert operators.is_session(session)
    assert operators.is_token(drawn, address=HERE)
    with pytest.raises(TooManyGuesses):
        operators.sign_in(key, address=HERE)
    with pytest.raises(TooManyGuesses):
        operators.is_token(secrets.token_urlsafe(24), address=HERE)
