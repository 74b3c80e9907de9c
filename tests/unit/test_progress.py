"""Progress of an experiment in the terminal."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.console import Console

from app.core.plan.scenario import Arm, TrialSpec
from app.core.trial import TrialRecord
from app.i18n import Words, remark
from app.lab.run.live_rows import InvalidStreak, LiveRows
from app.lab.run.progress import PlainProgress, describe
from app.lab.run.terminal_progress import TerminalProgress
from tests.unit.support_run import RunMaker, a_plan


@pytest.mark.parametrize("name", ["a[/b]", "[bold]x", "{task}", ":smile:", "[link=x]"])
def test_the_name_of_an_arm_is_not_interpreted_as_markup(name: str) -> None:
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
    assert describe(TrialSpec(0, 0, 2, Arm(name, "sse")), Words("en")) == "a?]0;title??2J?b, 2 clients"


def test_a_remark_on_a_floor_is_in_the_readers_language() -> None:
    stream = io.StringIO()
    said = remark("floor", arm="SSE", users=50, why="The generator was busy.", why_code="generator_busy")

    PlainProgress(stream).note(said)
    PlainProgress(stream, "id").note(said)

    assert stream.getvalue().splitlines() == [
        "Floor, SSE with 50 users: The generator was busy.",
        "Dasar, SSE dengan 50 pengguna: Pembangkit beban sudah jenuh.",
    ]


def test_a_log_has_a_line_for_each_tenth_with_the_running_medians_and_no_control_characters() -> None:
    stream = io.StringIO()
    progress = PlainProgress(stream, "id")
    run = RunMaker(a_plan(blocks=3, client_counts=(1,))).run()

    progress.start(trials=len(run.trials), left_s=10.0)
    for done, record in enumerate(run.trials):
        progress.trial(record.spec, done=done, trials=len(run.trials), left_s=5.0)
        progress.kept(record, is_valid=True)
    progress.finish()

    lines = stream.getvalue().splitlines()
    assert lines[0] == "9 putaran dan jendela senggang, sekitar 10 s"
    last = r" 80%  8 dari 9  tersisa 5 s  Socket\.IO median 0,\d+ ms  SSE median 0,\d+ ms"
    assert re.fullmatch(last, lines[-1])
    assert len(lines) == 9
    assert "\x1b" not in stream.getvalue()


def drawn(
    *, language: str = "en", alter: Callable[[TrialRecord], TrialRecord] = lambda record: record
) -> str:
    """Everything that a terminal gets during a run of two arms."""
    stream = io.StringIO()
    progress = TerminalProgress(Console(file=stream, force_terminal=True, width=100), language)
    run = RunMaker(a_plan(blocks=3, client_counts=(1,)), alter=alter).run()
    progress.start(trials=len(run.trials), left_s=10.0)
    for done, record in enumerate(run.trials):
        progress.trial(record.spec, done=done, trials=len(run.trials), left_s=5.0)
        progress.kept(record, is_valid=record.completed)
    progress.trial(run.trials[-1].spec, done=len(run.trials), trials=len(run.trials), left_s=0.0)
    progress.finish()
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())


def test_a_terminal_shows_each_arm_with_its_rounds_and_running_median() -> None:
    shown = drawn()

    assert re.search(r"SSE +3 of 3 rounds count +median 0\.\d{3} ms", shown)
    assert re.search(r"Socket\.IO +3 of 3 rounds count +median 0\.\d{3} ms", shown)
    assert re.search(r"SSE +3 dari 3 putaran dihitung +median 0,\d{3} ms", drawn(language="id"))


def test_medians_of_invalid_rounds_are_shown_as_not_counted_and_three_in_a_row_are_said_once() -> None:
    shown = drawn(alter=lambda record: replace(record, completed=False))

    assert re.search(r"SSE +0 of 3 rounds count +median 0\.\d{3} ms, not counted", shown)
    assert shown.count("3 repetitions in a row do not count.") == 1


def test_the_first_valid_round_replaces_what_was_seen_in_invalid_ones() -> None:
    run = RunMaker(a_plan(blocks=1, client_counts=(1,))).run()
    record = next(each for each in run.trials if each.spec.arm.name == "sse" and not each.spec.idle)
    rows = LiveRows()

    rows.add(record, is_valid=False)
    assert len(rows.rows["sse"].medians_ms) == 1
    rows.add(record, is_valid=True)
    rows.add(record, is_valid=False)

    row = rows.rows["sse"]
    assert (row.rounds, row.valid, len(row.medians_ms)) == (3, 1, 1)


@pytest.mark.parametrize(
    ("blocks", "said"),
    [
        ([False, False, False], [2]),
        ([False, False, True, False, False, False, False], [5]),
        ([True, False, False, True], []),
    ],
)
def test_three_invalid_repetitions_in_a_row_are_noticed_once(blocks: list[bool], said: list[int]) -> None:
    streak, noticed = InvalidStreak(), []
    arms = (Arm("sse", "sse"), Arm("socketio", "socketio"))

    for block, is_valid in enumerate(blocks):
        for place, arm in enumerate(arms):
            record = TrialRecord(TrialSpec(2 * block + place, block, 1, arm), 0, 1, 0)
            if streak.add(record, is_valid=is_valid):
                noticed.append(block)

    assert noticed == said
