"""The suggested command: `run` makes of it the plan that was measured, with more blocks."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from app.cli import measuring, run, run_phones
from app.core.plan.classroom import classroom_plan, with_phones
from app.core.plan.scenario import Arm, Plan
from app.lab.analysis.analyse import Analysis, analyse
from app.lab.analysis.comparison.margins import BLOCKS_NEEDED_MAX
from app.lab.analysis.more_blocks import MoreBlocks, more_blocks
from app.lab.report.contents.run_command import run_command
from app.store.plans import demo_plan, load_plan
from tests.unit.support_run import RunMaker, a_plan
from tests.unit.test_headline import disturbed

DEMO = demo_plan(seed=7)

OPEN = RunMaker(plan=a_plan(client_counts=(1,)), delay_ms=lambda *_: 1.0, block_noise=0.3)
"""Two arms that do not differ, in trials that differ too much for eight blocks."""


def command_for(plan: Plan, *, phones: int = 0, plan_file: str | None = None) -> str | None:
    """Return the command for a run of the plan."""
    measured = analyse(RunMaker(a_plan(blocks=1, client_counts=(1,), notifications=3)).run())
    seats = [{"client": index, "pseudonym": f"P{index + 1}"} for index in range(phones)]
    conditions = {**measured.run.conditions, "participants": seats} if phones else measured.run.conditions
    return run_command(
        replace(measured, run=replace(measured.run, plan=plan, conditions=conditions)), 21, plan_file
    )


def plan_of(command: str, *, seed: int) -> Plan:
    """Return the plan that `run` measures for a command."""
    program, name, *flags = shlex.split(command)
    assert (program, name) == ("./siar", "run")
    parser = argparse.ArgumentParser()
    run.add_arguments(parser)
    arguments = parser.parse_args([*flags, "--seed", str(seed)])
    if arguments.phones is not None:
        wanted = run._changed(run_phones.plan_for_phones(arguments), arguments)
        return with_phones(wanted, arguments.phones)
    return measuring.instrumented(run._plan(arguments), arguments.instrument)


@pytest.mark.parametrize(
    "plan",
    [
        DEMO,
        replace(DEMO, client_counts=(2, 50), rate_hz=12.5),
        replace(DEMO, notifications=33, payload_bytes=1024, instrument=False),
        demo_plan(seed=7, arms=("sse", "sse")),
        demo_plan(seed=7, arms=("socketio", "sse")),
    ],
    ids=["demo", "clients and rate", "size and instrument", "A/A", "other arms"],
)
def test_run_makes_the_same_plan_of_the_command(plan: Plan) -> None:
    command = command_for(plan)

    assert command is not None
    assert plan_of(command, seed=7) == replace(plan, blocks=21, profile="plan")


def test_a_quick_run_is_followed_by_the_whole_one() -> None:
    assert command_for(demo_plan(seed=7, quick=True)) == "./siar run --blocks 21"


def test_a_run_with_phones_is_done_with_as_many_again() -> None:
    plan = with_phones(classroom_plan(6, seed=7), 6)

    command = command_for(plan, phones=6)

    assert command == "./siar run --phones 6 --blocks 21"
    assert plan_of(command, seed=7) == replace(plan, blocks=21)


def test_a_plan_from_a_file_is_named_with_its_file_if_that_has_it(tmp_path: Path) -> None:
    file = tmp_path / "a plan.toml"
    file.write_text('arms = ["sse", "socketio"]\nidle_s = 0.3\n')
    measured = load_plan(file, seed=7)

    command = command_for(replace(measured, rate_hz=50.0), plan_file=str(file))

    assert command == f"./siar run '{file}' --rate 50 --blocks 21"
    assert plan_of(command, seed=7) == replace(measured, rate_hz=50.0, blocks=21)
    assert command_for(replace(measured, idle_s=0.9), plan_file=str(file)) is None
    assert command_for(measured) is None
    assert command_for(measured, plan_file=str(tmp_path / "gone.toml")) is None


def test_arms_with_factors_have_no_flags() -> None:
    arms = (Arm("sse", "sse"), Arm("slow", "sse", {"tcp_nodelay": False}))

    assert command_for(replace(DEMO, arms=arms)) is None


def needed(analysis: Analysis) -> MoreBlocks | None:
    return more_blocks(analysis, [1])


def test_the_blocks_are_those_that_the_comparison_needs() -> None:
    analysis = analyse(OPEN.run())
    [verdict] = analysis.verdicts
    found = needed(analysis)

    assert verdict.more_blocks is not None
    assert found is not None
    assert found.blocks == 8 + verdict.more_blocks


def test_a_run_that_was_stopped_or_is_invalid_is_done_whole_and_with_enough_blocks_for_a_verdict() -> None:
    stopped = needed(analyse(OPEN.run(complete=False, blocks_done=2)))
    quick = needed(analyse(RunMaker(plan=a_plan(blocks=3, client_counts=(1,)), alter=disturbed()).run()))

    assert stopped is not None
    assert quick is not None
    assert (stopped.blocks, quick.blocks) == (8, 8)


def test_the_minutes_are_those_of_the_runs_own_pace() -> None:
    run_record = OPEN.run()
    slow = replace(
        run_record,
        trials=tuple(
            replace(each, started_us=place * 20_000_000, ended_us=(place + 1) * 20_000_000)
            for place, each in enumerate(run_record.trials)
        ),
    )
    found = needed(analyse(slow))

    assert found is not None
    # Three trials of 20 s, of which one is an idle window, make two rounds.
    assert found.minutes == pytest.approx(2 * found.blocks * 30.0 / 60, abs=1)


def test_where_a_longer_run_would_not_decide_nothing_is_suggested() -> None:
    analysis = analyse(OPEN.run())
    comparisons = tuple(replace(each, more_blocks=BLOCKS_NEEDED_MAX) for each in analysis.comparisons)

    assert needed(replace(analysis, comparisons=comparisons)) is None
