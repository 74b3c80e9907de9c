"""The runner's side of the clients' process: a wait ends, also when that process has died."""

from __future__ import annotations

import pytest

from app.core.errors import Unfit
from app.lab.run.client_link import ClientLink

WAIT_S = 20.0
"""Far longer than a process takes that says something and ends."""


def test_a_process_that_ends_amid_an_answer_ends_the_wait_for_it() -> None:
    """One that was killed leaves half a line behind; `this` is a module that prints what is no answer."""
    with ClientLink(module="this") as link, pytest.raises(Unfit):
        link.wait_until_complete(WAIT_S)


def test_a_process_that_hangs_is_said_to_and_ends_the_run_in_words() -> None:
    """`json.tool` reads until its input ends and says nothing before."""
    with ClientLink(module="json.tool", answer_timeout_s=0.3) as link:
        for ask in (lambda: link.burst(1), link.collect, link.disconnect):
            with pytest.raises(Unfit, match=r"not answered for 0\.3 s"):
                ask()
