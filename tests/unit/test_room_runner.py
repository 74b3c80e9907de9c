"""The room and its runner: who speaks for which run, what is over, and a runner that falls silent."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.core.errors import Conflict, SiarError, Unfit
from app.core.exit_codes import EXIT_INTERRUPTED, EXIT_OK, EXIT_UNFIT
from app.core.plan.scenario import plan_to_json
from app.core.trial import RunRecord
from app.lab.analysis.analyse import Analysis, analyse
from app.lab.run import room_runner
from app.server.room import views
from app.server.room.current_run import ENDED_RUNS_MAX, RUNNER_SILENCE_US
from app.server.room.phases import Experiment, Phase
from app.server.room.room import RUNNER_SILENT, Room
from tests.unit.support_room import ONE_MORE_US, Bench, trial
from tests.unit.support_run import RunMaker, a_plan, store_run


@pytest.mark.parametrize("act", ["set_trial", "set_progress", "finish", "close"])
def test_what_a_cancelled_runner_says_late_does_not_reach_the_next_experiment(act: str) -> None:
    bench = Bench()
    bench.room.close()
    bench.room.open(Experiment("run-2", 2, 60.0))

    with pytest.raises(Conflict, match="run-1"):
        {
            "set_trial": lambda: bench.room.set_trial(None, run="run-1"),
            "set_progress": lambda: bench.room.set_progress({"round": 9}, run="run-1"),
            "finish": lambda: bench.room.finish({}, run="run-1"),
            "close": lambda: bench.room.close(run="run-1"),
        }[act]()

    assert bench.room.phase is Phase.GATHERING
    assert bench.room.current.progress == {}


def test_a_room_that_is_closed_already_is_closed_again_in_peace() -> None:
    bench = Bench()
    bench.room.close()

    bench.room.close()

    assert bench.room.phase is Phase.CLOSED


@pytest.mark.parametrize("end", ["finish", "close"])
def test_a_run_that_has_ended_takes_nothing_more_even_when_the_next_one_is_open(end: str) -> None:
    bench = Bench()
    bench.join("a")
    was_over = bench.room.has_ended("run-1")
    bench.room.finish({}, run="run-1") if end == "finish" else bench.room.close()
    at_end = bench.room.has_ended("run-1")
    bench.room.close()
    bench.room.open(Experiment("run-2", 2, 60.0))

    assert (was_over, at_end, bench.room.has_ended("run-1")) == (False, True, True)
    assert not bench.room.has_ended("run-2")


def test_runs_that_have_ended_are_remembered_up_to_a_bound() -> None:
    bench = Bench()
    for number in range(2 * ENDED_RUNS_MAX):
        bench.room.close()
        bench.room.open(Experiment(f"again-{number}", 2, 60.0))

    found = [number for number in range(2 * ENDED_RUNS_MAX) if bench.room.has_ended(f"again-{number}")]

    assert len(found) == ENDED_RUNS_MAX
    assert found[-1] == 2 * ENDED_RUNS_MAX - 2


def test_a_room_whose_runner_fell_silent_closes_and_says_so() -> None:
    bench = Bench()
    bench.room.note_runner_alive("run-1")
    bench.begin("a", "b")
    bench.room.note_runner_alive("run-1")

    bench.pass_time(RUNNER_SILENCE_US)
    before = bench.room.phase
    bench.pass_time(ONE_MORE_US, heard_of=("a", "b"))
    told = views.assignment(bench.room, "a")

    assert before is Phase.RUNNING
    assert (told["phase"], told["closed_because"]) == (Phase.CLOSED, RUNNER_SILENT)
    assert bench.room.has_ended("run-1")
    bench.room.open(Experiment("run-2", 2, 60.0))
    assert views.assignment(bench.room, "a")["closed_because"] is None


@pytest.mark.parametrize("view", [views.operator, views.screen])
def test_whoever_looks_first_at_a_room_that_time_has_closed_sees_no_trial_in_it(
    view: Callable[[Room], dict[str, Any]],
) -> None:
    bench = Bench()
    bench.room.note_runner_alive("run-1")
    bench.begin("a", "b")
    bench.room.set_trial(trial("a"), run="run-1")

    bench.pass_time(RUNNER_SILENCE_US + ONE_MORE_US)
    seen = view(bench.room)

    assert (seen["phase"], seen["trial"], seen["result"]) == (Phase.CLOSED, None, None)


def test_a_runner_is_not_missed_while_it_measures() -> None:
    bench = Bench()
    bench.room.note_runner_alive("run-1")
    bench.begin("a", "b")
    bench.room.note_runner_alive("run-1")
    ends_us = bench.clock.us + 5 * RUNNER_SILENCE_US
    bench.room.set_trial(trial("a", "b", state="running", ends_us=ends_us), run="run-1")

    bench.pass_time(6 * RUNNER_SILENCE_US)
    within = bench.room.phase
    bench.pass_time(ONE_MORE_US)

    assert (within, bench.room.phase) == (Phase.RUNNING, Phase.CLOSED)


def test_what_a_runner_sends_is_a_sign_of_life_too() -> None:
    bench = Bench()
    bench.room.note_runner_alive("run-1")

    for _ in range(3):
        bench.pass_time(RUNNER_SILENCE_US)
        bench.room.set_progress({"round": 1}, run="run-1")

    assert bench.room.phase is Phase.GATHERING


def test_a_room_that_no_runner_looks_after_stays_open() -> None:
    """A script may open it and come back for it."""
    bench = Bench()

    bench.pass_time(100 * RUNNER_SILENCE_US)

    assert bench.room.phase is Phase.GATHERING


def test_who_speaks_for_another_run_is_no_sign_of_life() -> None:
    bench = Bench()
    bench.room.note_runner_alive("run-1")

    bench.pass_time(RUNNER_SILENCE_US)
    bench.room.note_runner_alive("run-0")
    bench.pass_time(ONE_MORE_US)

    assert bench.room.phase is Phase.CLOSED


@pytest.mark.parametrize(
    ("complete", "error", "exit_code", "last"),
    [
        pytest.param(True, None, EXIT_OK, "Not decided: ", id="done"),
        pytest.param(False, None, EXIT_INTERRUPTED, '{"ending": {"code": "ending.stopped"', id="stopped"),
        pytest.param(False, Unfit("The server died."), EXIT_UNFIT, '{"ending": ', id="failed"),
    ],
)
def test_a_run_of_built_in_clients_is_analysed_once_however_it_ends(
    complete: bool,
    error: SiarError | None,
    exit_code: int,
    last: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    plan = a_plan(blocks=1, client_counts=(1,), notifications=3)
    run = RunMaker(plan).run(complete=complete)
    analysed: list[Analysis] = []

    def measured(*_: object, **__: object) -> Path:
        folder = store_run(run, tmp_path)
        (folder / "report.html").unlink()
        if error is not None:
            raise error
        return folder

    def counted(record: RunRecord) -> Analysis:
        analysed.append(analyse(record))
        return analysed[-1]

    monkeypatch.setattr(room_runner, "run_plan", measured)
    monkeypatch.setattr(room_runner, "analyse", counted)
    monkeypatch.setattr(room_runner, "find_server", lambda *_, **__: None)
    monkeypatch.setattr(room_runner, "_stop_request", lambda: lambda: False)
    (tmp_path / "plan.json").write_text(json.dumps(plan_to_json(plan)), encoding="utf-8")

    places = ("--plan", str(tmp_path / "plan.json"), "--runs-dir", str(tmp_path))
    ended = room_runner.main(["--url", "http://127.0.0.1:9", *places, "--run", run.id, "--clients"])

    assert ended == exit_code
    assert len(analysed) == 1
    assert (tmp_path / run.id / "report.html").is_file()
    assert capsys.readouterr().out.splitlines()[-1].startswith(last)
