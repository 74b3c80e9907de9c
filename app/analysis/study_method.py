"""The published study's own method, applied to our raw data, beside what the corrected method finds.

The study took one trial of each transport, the client's stamp minus the server's without synchronising clocks, and
compared the means. Here the same is done for every block in turn, as if each had been the only one:

    raw delay = received (client's clock as it stood at the client's first arrival in the run) - sent
    mean      = mean over clients of the client's mean, in ms; the transport with the lower mean "wins"

Setting each clock right once is kinder than the study, whose phones were never set: an offset that never changes is
the same in both transports on one phone and so leaves the difference alone; drift does not. A clock that starts anew
(a page that was reloaded, a client process of its own) is set anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.analysis.columns import Floats, columns_of
from app.analysis.groups import Groups
from app.analysis.statistics import mean
from app.core.trial import TrialRecord

NEW_CLOCK_US = 1e6
"""No clock that drifts by 200 ppm gets so far off within an hour: beyond it, it is another one."""


@dataclass(frozen=True, slots=True)
class StudyBlock:
    """What the study would have found, had this block been all of it."""

    block: int
    a_mean_ms: float
    b_mean_ms: float

    @property
    def difference_ms(self) -> float:
        """b - a."""
        return self.b_mean_ms - self.a_mean_ms


@dataclass(frozen=True, slots=True)
class StudyMethod:
    """The study's method over all blocks of one count of clients."""

    clients: int
    first: StudyBlock
    """The one trial of each that the study would have had."""
    a_lower: int
    """In how many blocks it would have said that a is faster."""
    b_lower: int
    drift_ms_max: float
    """How far a client's clock went from where it was set: what no correction leaves in a delay."""
    blocks: tuple[StudyBlock, ...]


class OnceSetClocks:
    """Each client's clock, set right at its first arrival and never again."""

    def __init__(self) -> None:
        self._offset_us: dict[int, float] = {}
        self.drift_ms_max = 0.0

    def mean_ms(self, record: TrialRecord) -> float | None:
        """The study's mean of a trial; trials have to come in the order in which they ran."""
        columns = columns_of(record.deliveries)
        is_usable = columns.has_arrived & columns.has_sent & ~np.isnan(columns.received_us)
        places = np.flatnonzero(is_usable)
        groups, means = Groups.by(columns.client[places]), []
        for client, own in zip(groups.keys.tolist(), groups.parts(places), strict=True):
            set_us = self._set_us(client, columns.clock_offset_us[own])
            delays_ms = (columns.received_client_us[own] + set_us - columns.sent_us[own]) / 1000
            if (value := mean(delays_ms[~columns.warmup[own]].tolist())) is not None:
                means.append(value)
        return mean(means)

    def _set_us(self, client: int, offsets_us: Floats) -> Floats:
        """What a client's clock was set right by at each of its arrivals; its drift is noted."""
        set_us = np.full(len(offsets_us), self._offset_us.setdefault(client, float(offsets_us[0])))
        while (is_another := abs(offsets_us - set_us) > NEW_CLOCK_US).any():
            begins = int(np.argmax(is_another))
            set_us[begins:] = self._offset_us[client] = float(offsets_us[begins])
        self.drift_ms_max = max(self.drift_ms_max, float(abs(offsets_us - set_us).max()) / 1000)
        return set_us


def study_methods(
    records: Sequence[TrialRecord], a: str, b: str, *, counting: set[tuple[int, int]]
) -> tuple[StudyMethod, ...]:
    """One for each count of clients that has a block; `records` in the order in which they ran.

    `a`, `b`: names of arms. `counting`: (clients, block) of the blocks that count.
    """
    clocks, drift_ms = OnceSetClocks(), dict[int, float]()
    means: dict[tuple[int, int], dict[str, float]] = {}
    for record in records:
        if record.spec.idle:
            continue
        value, key = clocks.mean_ms(record), (record.spec.clients, record.spec.block)
        if value is not None and key in counting:
            means.setdefault(key, {})[record.spec.arm.name] = value
            drift_ms[record.spec.clients] = clocks.drift_ms_max
    found: dict[int, list[StudyBlock]] = {}
    for (clients, block), by_arm in means.items():  # in the order in which they ran
        if a in by_arm and b in by_arm:
            found.setdefault(clients, []).append(StudyBlock(block, by_arm[a], by_arm[b]))
    return tuple(
        StudyMethod(
            clients=clients,
            first=blocks[0],
            a_lower=sum(each.difference_ms > 0 for each in blocks),
            b_lower=sum(each.difference_ms < 0 for each in blocks),
            drift_ms_max=drift_ms[clients],
            blocks=tuple(blocks),
        )
        for clients, blocks in sorted(found.items())
    )
