"""Who keeps a server level with Redis: it tells when Redis goes and when it is back, and nothing but its end ends it."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from app.core.errors import BrokerAway, StoreError
from app.server.broker.redis.follow import Follower

END_TIMEOUT_S = 30.0


class Followed:
    """A broker whose first tries to follow fail as they are told to."""

    def __init__(self, *failures: Exception) -> None:
        self._failures = list(failures)
        self.follower = Follower(self)
        self.told: list[bool] = []
        """Of Redis being away, and no longer."""
        self.hung_up = threading.Event()

    def catch_up(self) -> None:
        """Redis answers whenever it is asked."""

    def follow(self) -> None:
        if self._failures:
            raise self._failures.pop(0)
        self.follower.stop()

    def hang_up(self) -> None:
        self.hung_up.set()

    def report_away(self, *, is_away: bool) -> None:
        self.told.append(is_away)


@pytest.fixture
def followed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Followed]:
    """A broker that has been followed to the end."""
    monkeypatch.setattr("time.sleep", lambda _seconds: None)

    def follow(*failures: Exception) -> Followed:
        followed = Followed(*failures)
        followed.follower.start()
        assert followed.hung_up.wait(END_TIMEOUT_S), "it never came to its end"
        return followed

    return follow


def test_without_failures_no_state_is_reported(followed: Callable[..., Followed]) -> None:
    assert followed().told == []


@pytest.mark.parametrize(
    "failure",
    [BrokerAway("no answer"), StoreError("no history of ours"), RuntimeError("a bug")],
    ids=lambda failure: type(failure).__name__,
)
def test_a_failure_is_retried_and_both_states_are_reported(
    followed: Callable[..., Followed], failure: Exception
) -> None:
    """One that ended in silence would have its server go on with a history that never grows."""
    assert followed(failure, failure).told == [True, False, True, False]
