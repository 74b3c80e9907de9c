"""Differences between the settings of runs, and whether the runs may be compared.

refused   the figures do not mean the same: another environment, real against simulated clients, another rate,
          payload or length of trial, nothing in common
warned    the figures mean the same but come from another machine or system, which may cause a difference
noted     settings for whose sake runs are compared: versions, settings, commit
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.core.plan.scenario import LIVE_PROFILE, Arm, plan_to_json
from app.core.trial import RunRecord


class Weight(StrEnum):
    """The consequence of a different setting for the comparison."""

    REFUSED = "refused"
    WARNED = "warned"
    NOTED = "noted"


@dataclass(frozen=True, slots=True)
class SettingDifference:
    """A setting that differs between runs."""

    name: str
    values: tuple[object, ...]
    """The value of each run, in the order given; `None` where it was not recorded."""
    weight: Weight


REFUSING = {
    "plan.environment": "loopback and LAN delays are different things",
    "simulated": "built-in clients have no radio and no screen",
    "plan.rate_hz": "delay and CPU per notification depend on the rate",
    "plan.payload_bytes": "delay and CPU per notification depend on the payload",
    "plan.notifications": "jitter and quantiles depend on the length of a trial",
}
"""Settings whose difference refuses the comparison, with the reason."""

WARNING = (
    *("cpu_model", "cores", "usable_cores", "architecture", "system", "kernel", "governor", "clocksource"),
    *("implementation", "plan.warmup_notifications", "plan.instrument", "plan.idle_s", "complete", "browser"),
)

IGNORED = (
    *("plan.seed", "plan.arms", "plan.client_counts", "plan.profile", "plan.extra_blocks_max"),
    *("load_average_start", "load_average_end", "booted", "memory_bytes", "git_changed", "participants"),
    *("stopped", "ended"),
)
"""Names that differ in every run, or are no setting; arms and counts of clients are matched one by one."""

IGNORED_ENDINGS = ("port", "pid", "url", "timebase", "anchor_us", "started", "generation", "run", "runs_dir")


def setting_differences(runs: Sequence[RunRecord]) -> tuple[SettingDifference, ...]:
    """Return every setting that differs between runs, refusing ones first, then by name."""
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
    """Return the reasons why the runs may not be compared, as sentences; none when they may."""
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
    """Return the key by which arms match; it includes the name, which distinguishes the arms of an A/A run."""
    return (arm.name, arm.transport, *sorted((name, str(value)) for name, value in arm.factors.items()))


def _listed(values: Sequence[object]) -> str:
    return " against ".join(map(str, values))
