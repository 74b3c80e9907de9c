"""In what runs differ before any figure is compared, and whether they may be compared at all.

refused   the figure does not mean the same: another environment, real against simulated clients, another rate,
          payload or length of trial, nothing in common
warned    it does, and another machine or system made it: then a difference need not be the software's
noted     what one compares runs for: versions, settings, commit
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.core.plan.scenario import LIVE_PROFILE, Arm, plan_to_json
from app.core.trial import RunRecord


class Weight(StrEnum):
    """What a difference in a setting does to the comparison."""

    REFUSED = "refused"
    WARNED = "warned"
    NOTED = "noted"


@dataclass(frozen=True, slots=True)
class SettingDifference:
    """A setting that the runs do not share."""

    name: str
    values: tuple[object, ...]
    """One for each run, in the order given; `None` where it was not recorded."""
    weight: Weight


REFUSING = {
    "plan.environment": "loopback and LAN delays are different things",
    "simulated": "built-in clients have no radio and no screen",
    "plan.rate_hz": "delay and CPU per notification depend on the rate",
    "plan.payload_bytes": "delay and CPU per notification depend on the payload",
    "plan.notifications": "jitter and quantiles depend on the length of a trial",
}
"""And why."""

WARNING = (
    *("cpu_model", "cores", "usable_cores", "architecture", "system", "kernel", "governor", "clocksource"),
    *("implementation", "plan.warmup_notifications", "plan.instrument", "plan.idle_s", "complete", "browser"),
)

IGNORED = (
    *("plan.seed", "plan.arms", "plan.client_counts", "plan.profile", "plan.extra_blocks_max"),
    *("load_average_start", "load_average_end", "booted", "memory_bytes", "git_changed", "participants"),
    *("stopped", "ended"),
)
"""Different in every run, or no setting; arms and counts of clients are matched one by one."""

IGNORED_ENDINGS = ("port", "pid", "url", "timebase", "anchor_us", "started", "generation", "run", "runs_dir")


def setting_differences(runs: Sequence[RunRecord]) -> tuple[SettingDifference, ...]:
    """Everything that is not the same in all runs, refusing ones first, then by name."""
    all_values = [dict(_settings(run)) for run in runs]
    names = sorted({name for values in all_values for name in values})
    found = []
    for name in names:
        values = tuple(each.get(name) for each in all_values)
        if any(value != values[0] for value in values) and not _is_ignored(name):
            found.append(SettingDifference(name, values, _weight(name)))
    order = list(Weight)
    return tuple(sorted(found, key=lambda each: (order.index(each.weight), each.name)))


def objections(runs: Sequence[RunRecord]) -> tuple[str, ...]:
    """Why the runs may not be compared, as sentences; none when they may."""
    sentences = [
        f"{each.name} is {_listed(each.values)}: {REFUSING[each.name]}."
        for each in setting_differences(runs)
        if each.weight is Weight.REFUSED
    ]
    if any(run.plan.profile == LIVE_PROFILE for run in runs):
        sentences.append("A live run has no trials, so there is nothing to compare with it.")
    elif not set.intersection(*({_key(arm) for arm in run.plan.arms} for run in runs)):
        sentences.append("The runs have no arm in common.")
    elif not set.intersection(*(set(run.plan.client_counts) for run in runs)):
        sentences.append("The runs have no count of clients in common.")
    return tuple(sentences)


def _settings(run: RunRecord) -> Iterator[tuple[str, object]]:
    yield "simulated", run.simulated
    yield "complete", run.complete
    yield from _flat("plan.", plan_to_json(run.plan))
    yield from _flat("", run.conditions)


def _flat(prefix: str, values: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(f"{prefix}{name}.", value)
        else:
            yield f"{prefix}{name}", value


def _is_ignored(name: str) -> bool:
    return name in IGNORED or name.rpartition(".")[2] in IGNORED_ENDINGS


def _weight(name: str) -> Weight:
    if name in REFUSING:
        return Weight.REFUSED
    return Weight.WARNED if name in WARNING else Weight.NOTED


def _key(arm: Arm) -> tuple[object, ...]:
    """Arms are matched by all of it: those of an A/A run are told apart by their names."""
    return (arm.name, arm.transport, *sorted((name, str(value)) for name, value in arm.factors.items()))


def _listed(values: Sequence[object]) -> str:
    return " against ".join(map(str, values))
