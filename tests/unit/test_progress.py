"""What a person sees while an experiment runs."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from app.core.plan.scenario import Arm, TrialSpec
from app.lab.run.progress import PlainProgress, TerminalProgress, describe


@pytest.mark.parametrize("name", ["a[/b]", "[bold]x", "{task}", ":smile:", "[link=x]"])
def test_the_name_of_an_arm_is_shown_as_it_is_on_a_terminal(name: str) -> None:
    stream = io.StringIO()
    progress = TerminalProgress(Console(file=stream, force_terminal=True, width=100))

    progress.start(trials=3, left_s=10.0)
    progress.trial(TrialSpec(0, 0, 1, Arm(name, "sse")), done=1, trials=3, left_s=5.0)
    progress.note(f"Arm {name} is void.")
    progress.finish()

    assert f"{name}, 1 client" in stream.getvalue()
    assert f"Arm {name} is void." in stream.getvalue()


def test_control_characters_do_not_reach_the_terminal() -> None:
    stream = io.StringIO()
    name = "a\x1b]0;title\x07\x9b2J\nb"

    PlainProgress(stream).note(f"Arm {name} is void.")

    assert stream.getvalue() == "Arm a?]0;title??2J?b is void.\n"
    assert describe(TrialSpec(0, 0, 2, Arm(name, "sse"))) == "a?]0;title??2J?b, 2 clients"
