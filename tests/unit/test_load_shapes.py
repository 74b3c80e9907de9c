"""The way of a load through its stages: who is measured at each, and who is looked at idle."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from app.core.plan.scenario import BlockSpec, TrialSpec, trial_s
from app.core.trial import TrialRecord
from app.lab.run.laboratory import Finished
from app.lab.run.progress import Progress
from app.lab.run.runner import run_in_laboratory
from app.store.store import RunHead
from app.tools.load.shapes import shape_walk
from tests.support import records

Step = tuple[str, int, str]
"""What was done, at how many users, with which arm."""


@dataclass
class FakeLaboratory:
    """Trials that are over at once."""

    overhead_s: float = 0.0
    idle_overhead_s: float = 0.0
    steps: list[Step] = field(default_factory=list)

    def begin(self) -> tuple[()]:
        return ()

    def has_enough_for(self, block: BlockSpec) -> bool:
        raise AssertionError("a shape has no blocks")

    def begin_block(self, block: BlockSpec) -> BlockSpec | None:
        raise AssertionError("a shape has no blocks")

    def connect(self, spec: TrialSpec) -> None:
        pass

    def idle(self, spec: TrialSpec) -> Finished:
        return self._finished("idle", spec)

    def measure(self, spec: TrialSpec) -> Finished:
        return self._finished("trial", spec)

    def disconnect(self) -> None:
        pass

    def at_end(self) -> Mapping[str, object]:
        return {}

    def _finished(self, what: str, spec: TrialSpec) -> Finished:
        self.steps.append((what, spec.clients, spec.arm.name))
        return Finished(TrialRecord(spec, 0, 1, 0), (), ())


class Counting(Progress):
    """Remembers how much was said to be done, of how much, and the time left."""

    def __init__(self) -> None:
        self.said: list[tuple[int, int, float]] = []

    def start(self, *, trials: int, left_s: float) -> None:
        self.said.append((0, trials, left_s))

    def trial(self, spec: TrialSpec, *, done: int, trials: int, left_s: float) -> None:
        self.said.append((done, trials, left_s))


def steps_of(
    folder: Path,
    *stages: int,
    until_broken: Callable[[str, int], bool] = lambda _arm, _users: False,
    progress: Progress | None = None,
) -> list[Step]:
    laboratory = FakeLaboratory(overhead_s=7.0, idle_overhead_s=0.5)
    run_in_laboratory(
        RunHead("r", "2026-11-21T10:40:07Z", records.plan(client_counts=stages, idle_s=1.0), {}),
        folder / "r",
        lambda _store: contextlib.nullcontext(laboratory),
        progress or Progress(),
        walk=shape_walk(stages, until_broken=until_broken),
    )
    return laboratory.steps


def test_every_arm_is_measured_at_every_stage_and_one_of_them_idle(tmp_path: Path) -> None:
    assert steps_of(tmp_path, 50, 100) == [
        ("idle", 50, "sse"),
        ("trial", 50, "sse"),
        ("trial", 50, "socketio"),
        ("idle", 100, "sse"),
        ("trial", 100, "sse"),
        ("trial", 100, "socketio"),
    ]


def test_a_stage_has_its_idle_window_though_the_first_arm_has_given_out(tmp_path: Path) -> None:
    """Without one nobody knows the CPU of a delivery at the stages that only another arm came to."""
    steps = steps_of(tmp_path, 50, 100, until_broken=lambda arm, _users: arm == "sse")

    assert steps[3:] == [("idle", 100, "socketio"), ("trial", 100, "socketio")]


def test_when_every_arm_has_given_out_no_stage_follows(tmp_path: Path) -> None:
    steps = steps_of(tmp_path, 50, 100, until_broken=lambda _arm, _users: True)

    assert {users for _what, users, _arm in steps} == {50}


def test_what_is_left_is_told_with_idle_windows_and_connecting(tmp_path: Path) -> None:
    progress = Counting()

    steps = steps_of(tmp_path, 50, 100, progress=progress)

    plan = records.plan(idle_s=1.0)
    stage_s = sum(trial_s(plan, arm) + 7.0 for arm in plan.arms) + plan.settle_s + 1.0 + 0.5
    assert progress.said[0] == (0, len(steps), 2 * stage_s)
    assert [(done, left_s) for done, _trials, left_s in progress.said[1:]] == [
        (0, 2 * stage_s),
        (2, 2 * stage_s),
        (3, stage_s),
        (5, stage_s),
    ]
