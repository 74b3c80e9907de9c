"""Signatures in the delays of causes other than the transport; each is a note with advice.

    signature_nagle      many delays at 40 +- 5 ms or 200 +- 10 ms and few around them: Nagle's algorithm waits for a
                         delayed acknowledgement (Linux waits 40 ms, others 200)
    signature_beacon     many delays at 102.4 +- 5 ms and few around them, or arrivals in phase with 102.4 ms where due
                         times are not: the access point holds frames of a dozing phone until its beacon
    signature_batching   notifications that were due a period apart and arrive together, at least one in five
    signature_ms_clock   every stamp of a client on a whole millisecond: `Date.now()`, which also steps

Source: `measurement.md` section 3 (signature check) and section 1 (beacons). A signature shows true delay of the path, or
a coarse instrument. It voids nothing, but a reader must know it before explaining a difference.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from app.core.delivery import Delivery
from app.core.plan.scenario import Plan, arm_plan
from app.core.trial import TrialRecord, TrialWarning
from app.lab.analysis.columns import columns_of, every_kth_client
from app.lab.analysis.metrics.trial_metrics import by_client
from app.lab.analysis.validity.trial_warnings import note

CODES = frozenset({"signature_nagle", "signature_beacon", "signature_batching", "signature_ms_clock"})

SAMPLES_MIN = 20
"""Fewest samples that are checked; fewer make a mode by chance."""

MODE_SHARE_MIN = 0.30
MODE_LEAD_MIN = 3.0
MODE_CHANCE_MAX = 0.001
"""Conditions for a mode: it holds 30 % of the delays, and more than three times as many as the bands on both sides, which
together are as wide. A smooth density fills both about equally; the binomial probability that it gives as many is 0.001 at
most."""

COUNTED_OUT_MAX = 500
"""Most values for which the binomial probability is computed; with more, a lead of three is never by chance."""

CHECKED_MAX = 5000
"""Most deliveries that are checked; of more, those of every k-th client are, since a cause affects all clients alike."""

BEACON_MS = 102.4
"""100 time units of 1.024 ms: the default beacon interval of access points."""

IN_STEP_MIN = 0.7
OUT_OF_STEP_MAX = 0.4
"""Limits of the mean resultant length: 1 is perfectly in phase with the period, 0 is unrelated to it."""

DOZING_MS_MIN = 5.0
"""Smallest delay that may come from dozing; a phone that is awake receives a frame sooner, whatever the beacon does."""

TOGETHER_SHARE_OF_PERIOD = 0.10
TOGETHER_SHARE_MIN = 0.20
PERIOD_MS_MIN = 10.0
"""Smallest period that is checked; below it, the rate itself puts two notifications into one read."""


@dataclass(frozen=True, slots=True)
class Mode:
    """A delay that a known cause produces."""

    code: str
    at_ms: float
    reach_ms: float


MODES = (
    Mode("signature_nagle", 40.0, 5.0),
    Mode("signature_nagle", 200.0, 10.0),
    Mode("signature_beacon", BEACON_MS, 5.0),
)


def signatures(record: TrialRecord, plan: Plan) -> tuple[TrialWarning, ...]:
    """Return the signatures in a trial's delays, each at most once."""
    columns = columns_of(record.deliveries)
    is_checked = every_kth_client(columns, record.participants, rows_max=CHECKED_MAX)
    samples = columns.rows(columns.is_sample & is_checked)
    if len(samples) < SAMPLES_MIN:
        return ()
    found: dict[str, TrialWarning] = {}
    period_ms = 1000 / arm_plan(plan, record.spec.arm).rate_hz
    for each in (
        *_modes(samples),
        *_in_step(samples),
        *_together(samples, period_ms),
        *_ms_clock(samples),
    ):
        found.setdefault(each.code, each)
    return tuple(found.values())


def mode_share(values: Sequence[float], mode: Mode) -> float | None:
    """Return the share of the values at a mode; `None` where the conditions for a mode are not met."""
    at = sum(abs(value - mode.at_ms) <= mode.reach_ms for value in values)
    around = sum(mode.reach_ms < abs(value - mode.at_ms) <= 2 * mode.reach_ms for value in values)
    if at < MODE_SHARE_MIN * len(values) or at <= MODE_LEAD_MIN * around:
        return None
    if at + around > COUNTED_OUT_MAX:
        return at / len(values)
    by_chance = sum(math.comb(at + around, k) for k in range(around + 1)) / 2 ** (at + around)
    return at / len(values) if by_chance <= MODE_CHANCE_MAX else None


def mean_resultant_length(times_ms: Sequence[float], period_ms: float) -> float:
    """Return how well times keep phase with a period: the mean resultant length of circular statistics, 0 to 1."""
    angles = [2 * math.pi * math.fmod(time, period_ms) / period_ms for time in times_ms]
    return math.hypot(math.fsum(map(math.cos, angles)), math.fsum(map(math.sin, angles))) / len(angles)


def _modes(samples: Sequence[Delivery]) -> Iterator[TrialWarning]:
    delays_ms = [value for each in samples if (value := each.delay_from_sent_ms) is not None]
    for mode in MODES:
        share = mode_share(delays_ms, mode) if len(delays_ms) >= SAMPLES_MIN else None
        if share is not None:
            yield note(mode.code, percent=100 * share, at_ms=mode.at_ms, reach_ms=mode.reach_ms)


def _in_step(samples: Sequence[Delivery]) -> Iterator[TrialWarning]:
    clients = []
    for client, own in by_client(samples).items():
        slow = [each for each in own if (each.delay_from_sent_ms or 0.0) >= DOZING_MS_MIN]
        if len(slow) < max(SAMPLES_MIN, len(own) / 2):
            continue
        arrivals = mean_resultant_length([(each.received_us or 0.0) / 1000 for each in slow], BEACON_MS)
        source = mean_resultant_length([(each.sent_us or each.due_us) / 1000 for each in slow], BEACON_MS)
        if arrivals >= IN_STEP_MIN and source <= OUT_OF_STEP_MAX:
            clients.append(client)
    if clients:
        yield note("signature_beacon", variant="step", clients=len(clients), beacon_ms=BEACON_MS)


def _together(samples: Sequence[Delivery], period_ms: float) -> Iterator[TrialWarning]:
    if period_ms < PERIOD_MS_MIN:
        return
    close, pairs = 0, 0
    for own in by_client(samples).values():
        stamps = sorted(each.received_client_us or 0.0 for each in own)
        pairs += len(stamps) - 1
        close += sum(
            (after - before) / 1000 < TOGETHER_SHARE_OF_PERIOD * period_ms
            for before, after in pairwise(stamps)
        )
    if pairs and close >= TOGETHER_SHARE_MIN * pairs:
        yield note("signature_batching", percent=100 * close / pairs, period_ms=period_ms)


def _ms_clock(samples: Sequence[Delivery]) -> Iterator[TrialWarning]:
    clients = [
        own
        for own in by_client(samples).values()
        if len(own) >= SAMPLES_MIN and all((each.received_client_us or 0.0) % 1000 == 0 for each in own)
    ]
    if clients:
        yield note("signature_ms_clock", clients=len(clients))
