"""Validity rules for a trial under load (`measurement.md`, section 2), as typed warnings.

They judge the generator and the machine, never the server: what the server does badly is the result. So a late source,
or a connection that the server closed, does not excuse a gate here, although it invalidates the trial for a comparison.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from app.core.trial import Severity, TrialRecord, TrialWarning
from app.lab.analysis.validity.trial_warnings import note, void
from app.tools.load.cpu_isolation import Sharing
from app.tools.load.generators import Gathered, Handshakes
from app.tools.load.watch import Observations

CONNECTED_SHARE_MIN = 0.995
STAMPS_MISSING_SHARE_MAX = 0.01
CPU_SHARE_MAX = 0.70
"""Share of a core, or of the cores that processes share, in any one second."""
LAG_MS_MAX = 50.0
"""p99 of the generator's own event loop, for kernel delays; application delays are only shown."""
STEAL_SHARE_MAX = 0.01

GENERATOR_CODES = frozenset(
    {
        *("users_missing", "stamps_missing", "generator_busy", "generator_late", "receive_overflow"),
        *("stolen", "shared_core", "broken_stream"),
    }
)
"""Warnings issued here: with any of them, the generator is invalid."""

INSTRUMENT_CODES = GENERATOR_CODES | {
    *("clock_wide", "negative_delay", "machine_busy", "mixed_paths", "operator_published"),
}
"""Warnings about delays that the server did not cause; gates on delays exclude such trials."""


def rules(
    gathered: Gathered,
    observations: Observations,
    *,
    arrivals: int,
    without_stamp: int,
    shared: int,
    sharing: Sharing,
) -> list[TrialWarning]:
    """Return all warnings about a trial of Locust's users, invalidating ones and others."""
    return [
        *_users(gathered.handshakes),
        *_stamps(arrivals, without_stamp, shared),
        *_cpu(observations),
        *_lag(gathered.lag_ms_p99),
        *_machine(observations),
        *_cores(sharing),
        *_stream(gathered.malformed),
    ]


def is_believable(record: TrialRecord | Collection[TrialWarning]) -> bool:
    """Return whether nothing but the server can have impaired the trial's delays."""
    warnings = record.warnings if isinstance(record, TrialRecord) else record
    return not any(each.severity is Severity.VOID and each.code in INSTRUMENT_CODES for each in warnings)


def _users(handshakes: Handshakes) -> Iterator[TrialWarning]:
    if handshakes.connected < CONNECTED_SHARE_MIN * handshakes.wanted:
        yield void(
            "users_missing",
            variant="reasons" if handshakes.failures else "",
            connected=handshakes.connected,
            wanted=handshakes.wanted,
            attempts=handshakes.attempts,
            failed=handshakes.failed,
            reasons=tuple(f"{count} x {reason}" for reason, count in handshakes.failures.items()),
        )


def _stamps(arrivals: int, without_stamp: int, shared: int) -> Iterator[TrialWarning]:
    if without_stamp > STAMPS_MISSING_SHARE_MAX * arrivals:
        yield void("stamps_missing", missing=without_stamp, arrivals=arrivals, shared=shared)


def _cpu(observations: Observations) -> Iterator[TrialWarning]:
    if observations.cpu_share_max is None or observations.cpu_share_max <= CPU_SHARE_MAX:
        return
    yield void(
        "generator_busy",
        variant="crowded" if observations.is_crowded else "",
        percent=100 * observations.cpu_share_max,
        limit_percent=100 * CPU_SHARE_MAX,
    )


def _lag(lag_ms: float | None) -> Iterator[TrialWarning]:
    if lag_ms is not None and lag_ms > LAG_MS_MAX:
        yield void("generator_late", lag_ms=lag_ms, limit_ms=LAG_MS_MAX)


def _machine(observations: Observations) -> Iterator[TrialWarning]:
    if observations.receive_troubles:
        counters = tuple(f"{name} {count}" for name, count in observations.receive_troubles.items())
        yield void("receive_overflow", counters=counters)
    if observations.steal_share > STEAL_SHARE_MAX:
        share = observations.steal_share
        yield void("stolen", percent=100 * share, limit_percent=100 * STEAL_SHARE_MAX)


def _cores(sharing: Sharing) -> Iterator[TrialWarning]:
    if sharing is Sharing.MUST:
        yield void("shared_core")
    if sharing is Sharing.MAY:
        yield note("may_share_core")


def _stream(malformed: int) -> Iterator[TrialWarning]:
    if malformed:
        yield void("broken_stream", count=malformed)
