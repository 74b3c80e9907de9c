"""What a run does its trials with: built-in clients (`trial_run.py`) or phones (`phones.py`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from app.core.plan.scenario import BlockSpec, TrialSpec
from app.core.trial import TrialRecord
from app.store.store import Published, StampedProbe


@dataclass(frozen=True, slots=True)
class Finished:
    """A trial's record and what the store keeps beside it."""

    record: TrialRecord
    published: tuple[Published, ...]
    probes: tuple[StampedProbe, ...]


class Laboratory(Protocol):
    """The order in which the runner asks, and only what ends the whole run is raised.

    `begin` once; for each block `begin_block`, then for each of its arms `connect`, `idle` where the block wants it,
    `measure`, `disconnect`; `at_end` once, whatever happened.
    """

    overhead_s: float
    """What a trial takes beside its notifications and the plan's own times: a first guess for the time left."""
    idle_overhead_s: float
    """The same for an idle window."""

    def begin(self) -> Sequence[StampedProbe]:
        """Whatever is needed before the first trial."""
        ...

    def has_enough_for(self, block: BlockSpec) -> bool:
        """Whether as many clients are there as the block wants; one that finds too few waits behind the others."""
        ...

    def begin_block(self, block: BlockSpec) -> BlockSpec | None:
        """The block as it can run now, with fewer clients where some have gone for good; `None`: not at all."""
        ...

    def connect(self, spec: TrialSpec) -> None:
        """Have the clients of a trial connected."""
        ...

    def idle(self, spec: TrialSpec) -> Finished:
        """An idle window with the clients that are connected: the baseline of the CPU."""
        ...

    def measure(self, spec: TrialSpec) -> Finished:
        """A trial with the clients that are connected."""
        ...

    def disconnect(self) -> None:
        """Let the clients of the trial go."""
        ...

    def at_end(self) -> Mapping[str, object]:
        """Conditions that only the end knows."""
        ...
