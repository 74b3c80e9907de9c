"""The record of a trial with phones, made from the source's record and from posted samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.core.lifecycle import LifecycleReport
from app.core.plan.scenario import Plan, TrialSpec, arm_plan
from app.core.trial import TrialRecord
from app.lab.run import matching
from app.lab.run.phone_deliveries import Sample, devices_of, lifecycle_reports_of, phone_deliveries
from app.lab.run.trial_warnings import SourceRecord
from app.store.store import Store


@dataclass(frozen=True, slots=True)
class PostedSamples(Mapping[int, Sequence[Sample]]):
    """The samples that each participant posted of a trial, read on access: all of them at once may take gigabytes."""

    store: Store
    run: str
    trial: int
    devices: Mapping[int, str]
    """Devices by participant."""

    def __getitem__(self, client: int) -> Sequence[Sample]:
        found = self.store.samples_of(self.run, self.trial, self.devices[client], Sample._fields)
        return list(map(Sample._make, found))

    def __iter__(self) -> Iterator[int]:
        return iter(self.devices)

    def __len__(self) -> int:
        return len(self.devices)


@dataclass(frozen=True, slots=True)
class Posted:
    """Everything that the participants of one trial posted."""

    samples: Mapping[int, Sequence[Sample]]
    """Samples by participant, in order of arrival."""
    lifecycle_reports: tuple[LifecycleReport, ...]
    devices: Mapping[int, Mapping[str, Any]]
    """Device data by participant."""


def posted(store: Store, *, run: str, trial: int, clients: Mapping[str, int]) -> Posted:
    """Return what the store has of a trial from these devices only; `clients` are by device."""
    batches = [each for each in store.batches(trial) if each["run"] == run]
    samples = PostedSamples(store, run, trial, {client: device for device, client in clients.items()})
    return Posted(samples, lifecycle_reports_of(batches, clients), devices_of(batches, clients))


def phone_record(
    spec: TrialSpec,
    plan: Plan,
    participants: tuple[int, ...],
    source: SourceRecord,
    found: Posted,
    *,
    first_due_us: int,
) -> TrialRecord:
    """Return the record without times of the CPU window and CPU use, which the caller adds."""
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
        disconnects=sum(each.disconnects for each in found.lifecycle_reports),
        disturbances=source.disturbances,
        participants=participants,
        lifecycle_reports=found.lifecycle_reports,
        warnings=tuple(source.warnings),
    )
