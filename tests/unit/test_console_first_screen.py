"""First screen of a run on a terminal of 80 columns."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from app.i18n import LANGUAGES
from app.lab.analysis.analyse import analyse
from app.lab.report.renderers.console.result import print_first_screen
from app.store.plans import demo_plan
from tests.unit.support_run import RunMaker, a_plan
from tests.unit.test_headline import CASES, THREE, disturbed, everywhere, slower

COLUMNS = 80

LINES_MAX = 17
"""A terminal has 24 rows: five lines of the command follow, and the prompt."""


def printed(maker: RunMaker, *, language: str = "en", **arguments: object) -> list[str]:
    stream = io.StringIO()
    console = Console(file=stream, width=COLUMNS, highlight=False, force_terminal=True)
    print_first_screen(analyse(maker.run(**arguments)), console, language=language)  # type: ignore[arg-type]
    return re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue()).splitlines()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("case", [each for each in CASES if not each.startswith("three ")])
def test_it_fits_a_terminal(case: str, language: str) -> None:
    maker, arguments, *_ = CASES[case]

    lines = printed(maker, language=language, **arguments)

    assert len(lines) <= LINES_MAX
    assert max(map(len, lines)) <= COLUMNS


def test_the_answer_comes_first_and_the_command_that_may_decide_last() -> None:
    lines = printed(RunMaker(delay_ms=slower({1: 0.5, 3: 0.0, 6: 0.3}), alter=disturbed(only_clients=6)))

    assert [line.rstrip() for line in lines] == [
        "",
        "SSE and Socket.IO: SSE faster with 1 client; equal with 3 clients; no result",
        "with 6 clients.",
        "1, 3 and 6 simulated clients, loopback, 20 notifications/s of 256 bytes",
        "",
        "             median ms        95 % ms         CPU µs",
        "clients  SSE Socket.IO  SSE Socket.IO  SSE Socket.IO verdict",
        "      1 1.06      1.60 1.69      2.30  215       239 SSE faster by 0.34–0.74 ms",
        "      3 1.08      1.07 1.59      1.61 89.8       102 equal within ±0.22 ms",
        "      6 1.05      1.42 1.63      2.09    -         - seen, not counted",
        "",
        "3,200 delivered, of which 1,280 count; none lost, duplicated or out of order.",
        "16 of 48 rounds did not count: somebody published other notifications.",
        "Publish between trials, or leave the run alone.",
        "To decide with 6 clients: the same plan with 8 repetitions (`--blocks 8`), about",
        "1 minute.",
    ]


def test_a_plan_that_flags_can_express_gets_the_whole_command() -> None:
    lines = printed(RunMaker(plan=demo_plan(seed=1, quick=True)))

    assert "To decide with 1, 3 and 6 clients: " in lines[-3]
    assert "instead of 3, because the figures scatter, about" in " ".join("".join(lines[-3:-1]).split())
    assert re.fullmatch(r"  \./siar run --blocks \d+", lines[-1])


def test_nothing_is_suggested_where_all_is_decided() -> None:
    assert "--blocks" not in "".join(printed(RunMaker(delay_ms=everywhere(0.6))))


def test_three_arms_have_a_line_each() -> None:
    lines = printed(RunMaker(plan=a_plan(arms=THREE, client_counts=(6,))))

    assert [line.split()[:2] for line in lines if line.strip().startswith("6 ")] == [
        ["6", "simulated"],
        ["6", "SSE"],
        ["6", "Socket.IO"],
        ["6", "SSE"],
    ]


def test_a_run_that_ended_before_the_second_arm_shows_the_first_one() -> None:
    run = RunMaker(plan=a_plan(client_counts=(1,))).run(complete=False)
    first = next(each for each in run.trials if not each.spec.idle)
    stream = io.StringIO()
    print_first_screen(analyse(replace(run, trials=(first,))), Console(file=stream, width=COLUMNS))

    text = stream.getvalue()
    assert "Stopped after 0 of 8 repetitions (1 of 16 rounds): no result." in text
    assert "seen, not counted" in text


def test_control_characters_of_a_plan_do_not_reach_the_terminal() -> None:
    run = RunMaker(plan=a_plan(arms=("sse", "socketio"))).run()
    plan = run.plan
    arms = (replace(plan.arms[0], name="\x1b[31mred"), plan.arms[1])
    trials = tuple(
        replace(each, spec=replace(each.spec, arm=arms[0]))
        if each.spec.arm.name == plan.arms[0].name
        else each
        for each in run.trials
    )
    stream = io.StringIO()
    print_first_screen(
        analyse(replace(run, plan=replace(plan, arms=arms), trials=trials)),
        Console(file=stream, width=COLUMNS),
    )

    assert "\x1b[31m" not in stream.getvalue()
