"""Sequences of levels without blocks: steps, spike, ramp. They describe, but compare nothing.

Each stage connects anew. Users who stayed would carry the last stage's queue into the next, and the simultaneous
handshake of all users is a part of what a spike tests.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence

from app.core.plan.scenario import Plan, TrialSpec, trial_s
from app.lab.analysis.validity.checks import check_trial, is_valid
from app.lab.run.laboratory import Finished, Laboratory
from app.lab.run.progress import Progress
from app.lab.run.runner import Walk
from app.store.store import Store
from app.tools.load.capacity import all_gates_hold
from app.tools.load.gates import Gate
from app.tools.load.levels import levels_of
from app.tools.load.trial_line import TrialLine


def shape_walk(
    stages: Sequence[int], *, until_broken: Callable[[str, int], bool] = lambda _arm, _users: False
) -> Walk:
    """Run every arm at every stage, in order.

    `until_broken`: called after each; if true, that arm is not run any further.
    """

    def walk(plan: Plan, laboratory: Laboratory, store: Store, progress: Progress) -> None:
        broken: set[str] = set()
        visits: Counter[int] = Counter()
        index = itertools.count()
        done, total = 0, len(stages) * (len(plan.arms) + (plan.idle_s > 0))
        stage_s = _stage_s(plan, laboratory)
        progress.start(trials=total, left_s=stage_s * len(stages))
        store.add_probes(laboratory.begin())

        def keep(finished: Finished) -> None:
            nonlocal done
            done += 1
            store.add_trial(finished.record, published=finished.published)
            store.add_probes(finished.probes)
            progress.kept(finished.record, is_valid=is_valid(check_trial(finished.record, plan)))

        for number, users in enumerate(stages):
            block = visits[users]
            visits[users] += 1
            going = [arm for arm in plan.arms if arm.name not in broken]
            for arm in going:
                idle = TrialSpec(next(index), block, users, arm, idle=True)
                spec = TrialSpec(next(index), block, users, arm)
                progress.trial(spec, done=done, trials=total, left_s=stage_s * (len(stages) - number))
                laboratory.connect(spec)
                # One idle window per stage, as in a block: the baseline of CPU.
                if plan.idle_s > 0 and arm == going[0]:
                    keep(laboratory.idle(idle))
                keep(laboratory.measure(spec))
                laboratory.disconnect()
                if until_broken(arm.name, users):
                    broken.add(arm.name)
            if len(broken) == len(plan.arms):
                return

    return walk


def _stage_s(plan: Plan, laboratory: Laboratory) -> float:
    """Return the approximate duration of a stage at which all arms still run."""
    trials_s = sum(trial_s(plan, arm) + laboratory.overhead_s for arm in plan.arms)
    window_s = plan.idle_s + plan.settle_s + laboratory.idle_overhead_s
    return trials_s + (window_s if plan.idle_s > 0 else 0.0)


def breaks(gates: Sequence[Gate], lines: Sequence[TrialLine]) -> Callable[[str, int], bool]:
    """Return a function that tells whether the level just measured missed a gate, or had an invalid generator."""

    def is_broken(arm: str, users: int) -> bool:
        own = [each for each in lines if (each.arm, each.users) == (arm, users)]
        return not all(all_gates_hold(gates, level) for level in levels_of(own))

    return is_broken
