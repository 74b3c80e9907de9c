"""The interface between the runner and the clients of trials: built-in clients (`trial_run.py`) or phones (`phones.py`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from app.core.plan.scenario import BlockSpec, TrialSpec
from app.core.trial import TrialRecord
from app.store.store import Published, StampedProbe


@dataclass(frozen=True, slots=True)
class Finished:
    """A trial's record, with its published notifications and clock probes."""

    record: TrialRecord
    published: tuple[Published, ...]
    probes: tuple[StampedProbe, ...]


class Laboratory(Protocol):
    """Runs trials with one kind of clients.

    Promises:

    1. The runner calls `begin` once. For each block it calls `begin_block`, and then for each of its arms `connect`, `idle`
       where the block has an idle window, `measure` and `disconnect`. It calls `at_end` once, even after an error.
    2. Methods raise only errors that end the whole run.
    """

    overhead_s: float
    """Estimated duration of a trial beyond its notifications and the plan's own times, for the time left."""
    idle_overhead_s: float
    """The same estimate for an idle window."""

    def begin(self) -> Sequence[StampedProbe]:
        """Prepare for the first trial; return the first clock probes."""
        ...

    def has_enough_for(self, block: BlockSpec) -> bool:
        """Tell whether the block's count of clients is available; otherwise other blocks run before it."""
        ...

    def begin_block(self, block: BlockSpec) -> BlockSpec | None:
        """Return the block as it can run now, with fewer clients if some have left for good; `None` if it cannot run."""
        ...

    def connect(self, spec: TrialSpec) -> None:
        """Connect the clients of a trial."""
        ...

    def idle(self, spec: TrialSpec) -> Finished:
        """Run an idle window with the connected clients, which is the baseline of CPU use."""
        ...

    def measure(self, spec: TrialSpec) -> Finished:
        """Run a trial with the connected clients."""
        ...

    def disconnect(self) -> None:
        """Disconnect the clients of the trial."""
        ...

    def at_end(self) -> Mapping[str, object]:
        """Return conditions that are known only at the end."""
        ...
