"""Validity rules for a trial under load (`measurement.md`, section 2), as typed warnings.

They judge the generator and the machine, never the server: what the server does badly is the result. So a late source,
or a connection that the server closed, does not excuse a gate here, although it invalidates the trial for a comparison.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from app.core.trial import Severity, TrialRecord, TrialWarning
from app.lab.analysis.words import count_of, listing, number
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

MAY_SHARE_CORE = (
    "Generator and server may use the same core: nothing keeps each from taking the other's time."
)
KEEP_APART = "Give each cores of its own (taskset), or leave --url out: then the server has one of its own."

MORE_PROCESSES = "Give the generator more processes (--processes), or fewer users."


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
        reasons = listing([f"{count} x {reason}" for reason, count in handshakes.failures.items()])
        yield _invalid(
            "users_missing",
            f"{handshakes.connected} of {handshakes.wanted} users were connected when the trial began; of "
            f"{count_of(handshakes.attempts, 'attempt')} {handshakes.failed} failed"
            f"{f' ({reasons})' if handshakes.failures else ''}.",
            "Lower --spawn-rate or the number of users; look into the server's limits, and ulimit -n.",
        )


def _stamps(arrivals: int, without_stamp: int, shared: int) -> Iterator[TrialWarning]:
    if without_stamp > STAMPS_MISSING_SHARE_MAX * arrivals:
        yield _invalid(
            "stamps_missing",
            f"{without_stamp} of {arrivals} arrivals have no kernel stamp of their own, {shared} of them because one "
            "read held several notifications.",
            f"Lower --rate, so that notifications stay apart. {MORE_PROCESSES}",
        )


def _cpu(observations: Observations) -> Iterator[TrialWarning]:
    if observations.cpu_share_max is None or observations.cpu_share_max <= CPU_SHARE_MAX:
        return
    used, limit = number(100 * observations.cpu_share_max), number(100 * CPU_SHARE_MAX)
    if observations.is_crowded:
        yield _invalid(
            "generator_busy",
            f"The generator's processes together used {used} % of their cores in one second, limit {limit} %: they were "
            "saturated.",
            "Give the generator more cores, or fewer users: one more process would have the same cores.",
        )
    else:
        yield _invalid(
            "generator_busy",
            f"The generator used {used} % of its core in one second, limit {limit} %: it was saturated.",
            MORE_PROCESSES,
        )


def _lag(lag_ms: float | None) -> Iterator[TrialWarning]:
    if lag_ms is not None and lag_ms > LAG_MS_MAX:
        yield _invalid(
            "generator_late",
            f"The generator's own loop was late: p99 {number(lag_ms)} ms, limit {number(LAG_MS_MAX)} ms.",
            MORE_PROCESSES,
        )


def _machine(observations: Observations) -> Iterator[TrialWarning]:
    if observations.receive_troubles:
        named = listing([f"{name} {count}" for name, count in observations.receive_troubles.items()])
        yield _invalid(
            "receive_overflow",
            f"The kernel had no room for what came: {named}.",
            f"Raise net.core.somaxconn and net.ipv4.tcp_rmem, or lower --spawn-rate. {MORE_PROCESSES}",
        )
    if observations.steal_share > STEAL_SHARE_MAX:
        yield _invalid(
            "stolen",
            f"The machine's host gave {number(100 * observations.steal_share)} % of its time to others, limit "
            f"{number(100 * STEAL_SHARE_MAX)} %.",
            "Use a machine of its own, or measure when its neighbours are quiet.",
        )


def _cores(sharing: Sharing) -> Iterator[TrialWarning]:
    if sharing is Sharing.MUST:
        yield _invalid(
            "shared_core",
            "Generator and server share one core: each takes the other's time.",
            "Use a machine with two cores or more, or give a server elsewhere with --url.",
        )
    if sharing is Sharing.MAY:
        yield TrialWarning("may_share_core", Severity.NOTE, MAY_SHARE_CORE, KEEP_APART)


def _stream(malformed: int) -> Iterator[TrialWarning]:
    if malformed:
        yield _invalid(
            "broken_stream",
            f"{count_of(malformed, 'connection')} brought bytes that break the protocol.",
            "Look for what stands between server and generator; without it, this is a fault of the server's.",
        )


def _invalid(code: str, text: str, advice: str) -> TrialWarning:
    return TrialWarning(code, Severity.VOID, text, advice)
