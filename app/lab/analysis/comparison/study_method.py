"""The SSE study's method applied to the run's raw data, for comparison with the corrected method.

The study took one trial of each transport, subtracted the server's stamp from the client's without synchronising clocks,
and compared the means. Here the same is done for every block in turn, as if each were the only one:

    raw delay = received (by the client's uncorrected clock) - sent
    mean      = mean over clients of the client's mean, in ms; the transport with the lower mean "wins"

The uncorrected clock is one of two:

    wall clock   Phones report their wall clocks. It is then `Date.now()` as on the study's phones, never set by us, with
                 whatever error it had.
    set once     Built-in clients, and phones in runs before they reported it, have a clock with an arbitrary origin. It is
                 set at the client's first arrival in the run, and never again. This favours the study: a constant offset
                 is the same for both transports on one client and cancels in the difference, while drift does not. A
                 clock that restarts (a reloaded page, a separate client process) is set again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from app.core.trial import TrialRecord
from app.lab.analysis.columns import Floats, columns_of
from app.lab.analysis.groups import Groups
from app.lab.analysis.statistics.quantile import mean

NEW_CLOCK_US = 1e6
"""Jump from which on it is another clock; drift of 200 ppm does not reach it within an hour."""


class Stamps(StrEnum):
    """The clock by which raw delays are computed."""

    WALL = "wall"
    """The phones' wall clocks, uncorrected."""
    SET_ONCE = "set_once"
    """The clients' own clocks, corrected at the first arrival only."""


@dataclass(frozen=True, slots=True)
class StudyBlock:
    """The study's result if this block were its only one."""

    block: int
    a_mean_ms: float
    b_mean_ms: float
    clocks_ms: float
    """The part of the difference that clock errors cause; it vanishes when the same arrivals use corrected clocks."""

    @property
    def difference_ms(self) -> float:
        """Return b - a."""
        return self.b_mean_ms - self.a_mean_ms


@dataclass(frozen=True, slots=True)
class StudyMethod:
    """The study's method over all blocks of one count of clients."""

    clients: int
    first: StudyBlock
    """The first block: the one trial of each transport that the study would have had."""
    a_lower: int
    """The number of blocks in which the method would have found a faster."""
    b_lower: int
    drift_ms_max: float
    """Largest drift of a client's clock from its first offset: the error that remains in a delay without correction."""
    blocks: tuple[StudyBlock, ...]
    stamps: Stamps = Stamps.SET_ONCE
    wall_error_ms_max: float | None = None
    """Largest error of a wall clock against the server's time; `None` where clocks were set once."""


@dataclass(frozen=True, slots=True)
class Means:
    """Mean raw delay of one client, or of a trial's clients, with its clock error."""

    raw_ms: float
    clock_error_ms: float
    """The part of `raw_ms` that clock errors added."""


class RawClocks:
    """The clients' uncorrected clocks, followed from trial to trial."""

    def __init__(self, stamps: Stamps) -> None:
        self.stamps = stamps
        self._first_us: dict[int, float] = {}
        """The clock's offset, or the wall clock's error, at the first arrival of each client."""
        self.drift_ms_max = 0.0
        self._error_ms_max = 0.0

    @property
    def wall_error_ms_max(self) -> float | None:
        """Return the largest error of any wall clock so far; `None` where wall clocks are not used."""
        return self._error_ms_max if self.stamps is Stamps.WALL else None

    def means_ms(self, record: TrialRecord) -> Means | None:
        """Return the study's mean of a trial; call it for trials in the order in which they ran."""
        columns = columns_of(record.deliveries)
        is_usable = columns.has_arrived & columns.has_sent & ~np.isnan(columns.received_us)
        places = np.flatnonzero(is_usable)
        groups, ahead_us = Groups.by(columns.client[places]), _ahead_us(record)
        found: list[Means] = []
        for client, own in zip(groups.keys.tolist(), groups.parts(places), strict=True):
            offsets_us = columns.clock_offset_us[own]
            if self.stamps is Stamps.WALL:
                if client not in ahead_us:  # The client did not take part in the trial.
                    continue
                set_us = self._wall_clock_us(client, ahead_us[client], offsets_us)
            else:
                set_us = self._set_once_us(client, offsets_us)
            measured = ~columns.warmup[own]
            delays_ms = (columns.received_client_us[own] + set_us - columns.sent_us[own]) / 1000
            raw_ms = mean(delays_ms[measured].tolist())
            clock_error_ms = mean(((set_us - offsets_us) / 1000)[measured].tolist())
            if raw_ms is not None and clock_error_ms is not None:
                found.append(Means(raw_ms, clock_error_ms))
        raw_ms, clock_error_ms = (
            mean([each.raw_ms for each in found]),
            mean([each.clock_error_ms for each in found]),
        )
        return None if raw_ms is None or clock_error_ms is None else Means(raw_ms, clock_error_ms)

    def _set_once_us(self, client: int, offsets_us: Floats) -> Floats:
        """Return the correction of a client's clock at each of its arrivals, and note the clock's drift."""
        set_us = np.full(len(offsets_us), self._first_us.setdefault(client, float(offsets_us[0])))
        while (is_another := abs(offsets_us - set_us) > NEW_CLOCK_US).any():
            begins = int(np.argmax(is_another))
            set_us[begins:] = self._first_us[client] = float(offsets_us[begins])
        self._note_drift(offsets_us - set_us)
        return set_us

    def _wall_clock_us(self, client: int, ahead_us: float, offsets_us: Floats) -> Floats:
        """Return the shift from a client's stamps to its wall clock, and note that clock's error and drift."""
        errors_us = ahead_us - offsets_us
        self._error_ms_max = max(self._error_ms_max, float(np.max(abs(errors_us))) / 1000)
        self._note_drift(errors_us - self._first_us.setdefault(client, float(errors_us[0])))
        return np.full(len(offsets_us), ahead_us)

    def _note_drift(self, drifts_us: Floats) -> None:
        self.drift_ms_max = max(self.drift_ms_max, float(np.max(abs(drifts_us))) / 1000)


def study_methods(
    records: Sequence[TrialRecord], a: str, b: str, *, counting: set[tuple[int, int]]
) -> tuple[StudyMethod, ...]:
    """Apply the study's method to each count of clients that has a block.

    `records`: in the order in which they ran. `a`, `b`: names of arms. `counting`: (clients, block) of the blocks
    that count.
    """
    measured = [each for each in records if not each.spec.idle]
    counted = [each for each in measured if (each.spec.clients, each.spec.block) in counting]
    clocks = RawClocks(_stamps_of(counted))
    means: dict[tuple[int, int], dict[str, Means]] = {}
    worst: dict[int, tuple[float, float | None]] = {}
    for record in counted if clocks.stamps is Stamps.WALL else measured:
        value, key = clocks.means_ms(record), (record.spec.clients, record.spec.block)
        if value is not None and key in counting:
            means.setdefault(key, {})[record.spec.arm.name] = value
            worst[record.spec.clients] = clocks.drift_ms_max, clocks.wall_error_ms_max
    found: dict[int, list[StudyBlock]] = {}
    for (clients, block), by_arm in means.items():  # in the order in which they ran
        if a in by_arm and b in by_arm:
            found.setdefault(clients, []).append(_block(block, by_arm[a], by_arm[b]))
    return tuple(
        StudyMethod(
            clients=clients,
            first=blocks[0],
            a_lower=sum(each.difference_ms > 0 for each in blocks),
            b_lower=sum(each.difference_ms < 0 for each in blocks),
            drift_ms_max=worst[clients][0],
            blocks=tuple(blocks),
            stamps=clocks.stamps,
            wall_error_ms_max=worst[clients][1],
        )
        for clients, blocks in sorted(found.items())
    )


def _block(block: int, a: Means, b: Means) -> StudyBlock:
    return StudyBlock(block, a.raw_ms, b.raw_ms, clocks_ms=b.clock_error_ms - a.clock_error_ms)


def _stamps_of(counted: Sequence[TrialRecord]) -> Stamps:
    """Choose wall clocks only if every participant of every trial reported its own; one mean must not mix two kinds."""
    all_report = all(
        each.participants and set(each.participants) <= _ahead_us(each).keys() for each in counted
    )
    return Stamps.WALL if counted and all_report else Stamps.SET_ONCE


def _ahead_us(record: TrialRecord) -> dict[int, float]:
    """Return how far each client's wall clock was ahead of its own clock, for clients that reported it."""
    return {
        each.client: each.wall_ahead_us for each in record.lifecycle_reports if each.wall_ahead_us is not None
    }
