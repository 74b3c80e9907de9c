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
from functools import reduce

from app.core.messages import Message, Text
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


REFUSING = ("plan.environment", "simulated", "plan.rate_hz", "plan.payload_bytes", "plan.notifications")
"""Settings whose difference refuses the comparison; the catalogue has the reason of each."""

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

VALUE_CHARS_MAX = 60

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


def objections(runs: Sequence[RunRecord]) -> tuple[Message, ...]:
    """Return the reasons why the runs may not be compared, as sentences; none when they may."""
    sentences = [
        Message(
            "compare.objection",
            {
                "setting": each.name,
                "values": reduce(_against, map(value_text, each.values)),
                "reason": Message(f"compare.reason.{each.name}"),
            },
        )
        for each in setting_differences(runs)
        if each.weight is Weight.REFUSED
    ]
    if any(run.plan.profile == LIVE_PROFILE for run in runs):
        sentences.append(Message("compare.live"))
    elif not set.intersection(*({_key(arm) for arm in run.plan.arms} for run in runs)):
        sentences.append(Message("compare.no_arm"))
    elif not set.intersection(*(set(run.plan.client_counts) for run in runs)):
        sentences.append(Message("compare.no_count"))
    return tuple(sentences)


def value_text(value: object) -> Text:
    """Return a setting's value for readers, cut at `VALUE_CHARS_MAX`; `None` when it was not recorded."""
    if isinstance(value, bool):
        return Message("cell.yes" if value else "cell.no")
    text = str(value)
    return (
        None if value is None else text if len(text) <= VALUE_CHARS_MAX else f"{text[: VALUE_CHARS_MAX - 1]}…"
    )


def _against(values: Text, value: Text) -> Message:
    return Message("compare.against", {"values": values, "value": value})


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
