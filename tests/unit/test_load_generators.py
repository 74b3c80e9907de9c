"""The processes of Locust as the runner sees them, with processes that say what a test has them say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pytest

from app.core.errors import Unfit
from app.tools.load.generators import GeneratorProcess, Generators


class Speaker:
    """Stands for a process: says once after each `expect` that it is complete, the `at`th time that it is waited for."""

    def __init__(self, pid: int, *, at: int) -> None:
        self.pid = pid
        self.waits = 0
        self._at = at

    def order_users(self, order: Mapping[str, Any]) -> None:
        del order

    def await_users(self, timeout_s: float) -> dict[str, Any]:
        del timeout_s
        return {"connected": 1, "attempts": 1, "failures": {}, "connect_us": [500]}

    def expect_trial(self, expectation: Mapping[str, Any]) -> None:
        del expectation
        self.waits = 0

    def wait_until_complete(self, timeout_s: float) -> bool:
        del timeout_s
        self.waits += 1
        return self.waits == self._at


def generators_of(*speakers: Speaker) -> Generators:
    """One user on each."""
    generators = Generators([cast("GeneratorProcess", each) for each in speakers])
    generators.connect(
        list(range(len(speakers))),
        transport="sse",
        url="http://127.0.0.1:1",
        topics=(),
        fanout=None,
        spawn_rate=10,
        timeout_s=1,
    )
    return generators


def test_who_has_said_that_it_is_complete_is_not_waited_for_again() -> None:
    prompt, slow = Speaker(1, at=1), Speaker(2, at=2)
    generators = generators_of(prompt, slow)
    generators.expect("r", 0, 5)

    first, second = generators.wait_until_complete(0.0), generators.wait_until_complete(0.0)

    assert (first, second) == (False, True)
    assert (prompt.waits, slow.waits) == (1, 2)


def test_with_the_next_trial_everybody_has_to_say_it_anew() -> None:
    generators = generators_of(Speaker(1, at=1), Speaker(2, at=2))
    generators.expect("r", 0, 5)
    generators.wait_until_complete(0.0)
    generators.wait_until_complete(0.0)

    generators.expect("r", 1, 5)

    assert [generators.wait_until_complete(0.0) for _ in range(2)] == [False, True]


def test_a_process_that_does_not_answer_ends_the_run_in_words() -> None:
    # It reads until its input ends, and says nothing before.
    with GeneratorProcess(module="json.tool") as process:
        process.order_users({"clients": [0]})

        with pytest.raises(Unfit, match="in time"):
            process.await_users(0.0)
