"""The published study's own method, applied to our raw data, beside what the corrected method finds.

The study took one trial of each transport, the client's stamp minus the server's without synchronising clocks, and
compared the means. Here the same is done for every block in turn, as if each had been the only one:

    raw delay = received (by the client's clock as it stood) - sent
    mean      = mean over clients of the client's mean, in ms; the transport with the lower mean "wins"

How a client's clock stood depends on what is known of it. Phones say where their wall clocks were: then it is
`Date.now()` as the study's phones had it, never set by us and wrong by whatever it was wrong. Built-in clients, and phones
of runs from before they said it, have a clock that begins anywhere; it is set right once, at the client's first arrival in
the run, and never again. That is kinder than the study: an offset that never changes is the same in both transports on one
client and so leaves the difference alone; drift does not. A clock that starts anew (a page that was reloaded, a client
process of its own) is set anew.
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
"""No clock that drifts by 200 ppm gets so far off within an hour: beyond it, it is another one."""


class Stamps(StrEnum):
    """Which clock the raw delays were read by."""

    WALL = "wall"
    """The phones' wall clocks, as they stood."""
    SET_ONCE = "set_once"
    """The clients' own clocks, set right at the first arrival."""


@dataclass(frozen=True, slots=True)
class StudyBlock:
    """What the study would have found, had this block been all of it."""

    block: int
    a_mean_ms: float
    b_mean_ms: float
    clocks_ms: float
    """How much of the difference came from the clocks: it goes once the same arrivals are read by corrected ones."""

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
    """How far a client's clock went from where it stood at first: what no correction leaves in a delay."""
    blocks: tuple[StudyBlock, ...]
    stamps: Stamps = Stamps.SET_ONCE
    wall_error_ms_max: float | None = None
    """How far the worst of the wall clocks was from the server's time; `None` where clocks were set once."""


@dataclass(frozen=True, slots=True)
class Means:
    """Of one client, or of a trial's clients."""

    raw_ms: float
    wrong_ms: float
    """What the clocks had added to it."""


class RawClocks:
    """Clients' clocks as they stood, trial after trial."""

    def __init__(self, stamps: Stamps) -> None:
        self.stamps = stamps
        self._first_us: dict[int, float] = {}
        """By client: its clock's offset at its first arrival, or the error of its wall clock there."""
        self.drift_ms_max = 0.0
        self._error_ms_max = 0.0

    @property
    def wall_error_ms_max(self) -> float | None:
        """The largest error of any wall clock so far; `None` where none is used."""
        return self._error_ms_max if self.stamps is Stamps.WALL else None

    def means_ms(self, record: TrialRecord) -> Means | None:
        """The study's mean of a trial; trials have to come in the order in which they ran."""
        columns = columns_of(record.deliveries)
        is_usable = columns.has_arrived & columns.has_sent & ~np.isnan(columns.received_us)
        places = np.flatnonzero(is_usable)
        groups, ahead_us = Groups.by(columns.client[places]), _ahead_us(record)
        found: list[Means] = []
        for client, own in zip(groups.keys.tolist(), groups.parts(places), strict=True):
            offsets_us = columns.clock_offset_us[own]
            if self.stamps is Stamps.WALL:
                if client not in ahead_us:  # No participant of the trial.
                    continue
                set_us = self._as_told(client, ahead_us[client], offsets_us)
            else:
                set_us = self._set_once(client, offsets_us)
            measured = ~columns.warmup[own]
            delays_ms = (columns.received_client_us[own] + set_us - columns.sent_us[own]) / 1000
            raw_ms = mean(delays_ms[measured].tolist())
            wrong_ms = mean(((set_us - offsets_us) / 1000)[measured].tolist())
            if raw_ms is not None and wrong_ms is not None:
                found.append(Means(raw_ms, wrong_ms))
        raw_ms, wrong_ms = mean([each.raw_ms for each in found]), mean([each.wrong_ms for each in found])
        return None if raw_ms is None or wrong_ms is None else Means(raw_ms, wrong_ms)

    def _set_once(self, client: int, offsets_us: Floats) -> Floats:
        """What a client's clock was set right by at each of its arrivals; its drift is noted."""
        set_us = np.full(len(offsets_us), self._first_us.setdefault(client, float(offsets_us[0])))
        while (is_another := abs(offsets_us - set_us) > NEW_CLOCK_US).any():
            begins = int(np.argmax(is_another))
            set_us[begins:] = self._first_us[client] = float(offsets_us[begins])
        self._note_drift(offsets_us - set_us)
        return set_us

    def _as_told(self, client: int, ahead_us: float, offsets_us: Floats) -> Floats:
        """What makes a client's stamps those of its wall clock; how wrong that was is noted."""
        errors_us = ahead_us - offsets_us
        self._error_ms_max = max(self._error_ms_max, float(np.max(abs(errors_us))) / 1000)
        self._note_drift(errors_us - self._first_us.setdefault(client, float(errors_us[0])))
        return np.full(len(offsets_us), ahead_us)

    def _note_drift(self, drifts_us: Floats) -> None:
        self.drift_ms_max = max(self.drift_ms_max, float(np.max(abs(drifts_us))) / 1000)


def study_methods(
    records: Sequence[TrialRecord], a: str, b: str, *, counting: set[tuple[int, int]]
) -> tuple[StudyMethod, ...]:
    """One for each count of clients that has a block; `records` in the order in which they ran.

    `a`, `b`: names of arms. `counting`: (clients, block) of the blocks that count.
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
    return StudyBlock(block, a.raw_ms, b.raw_ms, clocks_ms=b.wrong_ms - a.wrong_ms)


def _stamps_of(counted: Sequence[TrialRecord]) -> Stamps:
    """Wall clocks only where every participant of every trial told its own: two kinds in one mean would be neither."""
    told = all(each.participants and set(each.participants) <= _ahead_us(each).keys() for each in counted)
    return Stamps.WALL if counted and told else Stamps.SET_ONCE


def _ahead_us(record: TrialRecord) -> dict[int, float]:
    """How far each client's wall clock was ahead of its own clock, of those that said it."""
    return {each.client: each.wall_ahead_us for each in record.conducts if each.wall_ahead_us is not None}
