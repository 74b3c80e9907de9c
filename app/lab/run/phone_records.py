"""The record of a trial with phones, of what the source says and what phones posted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.core.lifecycle import LifecycleReport
from app.core.plan.scenario import Plan, TrialSpec, arm_plan
from app.core.trial import TrialRecord
from app.lab.run import matching
from app.lab.run.phone_deliveries import Sample, conducts_of, devices_of, phone_deliveries
from app.lab.run.trial_warnings import SourceRecord
from app.store.store import Store


@dataclass(frozen=True, slots=True)
class PostedSamples(Mapping[int, Sequence[Sample]]):
    """What each participant posted of a trial, looked up when it is asked for: all of them at once may be gigabytes."""

    store: Store
    run: str
    trial: int
    devices: Mapping[int, str]
    """By participant."""

    def __getitem__(self, client: int) -> Sequence[Sample]:
        found = self.store.samples_of(self.run, self.trial, self.devices[client], Sample._fields)
        return list(map(Sample._make, found))

    def __iter__(self) -> Iterator[int]:
        return iter(self.devices)

    def __len__(self) -> int:
        return len(self.devices)


@dataclass(frozen=True, slots=True)
class Posted:
    """What the participants of one trial posted."""

    samples: Mapping[int, Sequence[Sample]]
    """By participant, in the order in which they came."""
    conducts: tuple[LifecycleReport, ...]
    devices: Mapping[int, Mapping[str, Any]]
    """What each said of its device."""


def posted(store: Store, *, run: str, trial: int, clients: Mapping[str, int]) -> Posted:
    """What the store has of a trial, of these devices and no other."""
    batches = [each for each in store.batches(trial) if each["run"] == run]
    samples = PostedSamples(store, run, trial, {client: device for device, client in clients.items()})
    return Posted(samples, conducts_of(batches, clients), devices_of(batches, clients))


def phone_record(
    spec: TrialSpec,
    plan: Plan,
    participants: tuple[int, ...],
    source: SourceRecord,
    found: Posted,
    *,
    first_due_us: int,
) -> TrialRecord:
    """Everything but the edges and the CPU, which are the caller's."""
    own = arm_plan(plan, spec.arm)
    expected = matching.expected_of(own, first_due_us, source.published)
    measured = [each for each in source.published if each.seq >= own.warmup_notifications]
    return TrialRecord(
        spec=spec,
        started_us=first_due_us,
        ended_us=first_due_us,
        published=len(source.published),
        source_lag_us=tuple(each.sent_us - each.due_us for each in measured),
        deliveries=phone_deliveries(spec.arm, expected, found.samples, participants, drain_s=own.drain_s),
        disconnects=sum(each.disconnects for each in found.conducts),
        disturbances=source.disturbances,
        participants=participants,
        conducts=found.conducts,
        warnings=tuple(source.warnings),
    )
