"""The Redis study's stress and cache tables, with the run's figures in the same rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from app.core.plan.scenario import Plan, arm_plan
from app.lab.analysis.analyse import Analysis
from app.lab.studies.published import study_of
from app.lab.studies.tables import (
    ArmFigures,
    StudyRow,
    StudyTable,
    StudyTables,
    headings,
    smallest_and_largest,
)

STUDY = "purbaya-websocket-redis"

COLUMNS = ("C1", "C2", "C3")

Figure = Callable[[ArmFigures], float | None]


def _spikes(cell: ArmFigures) -> float | None:
    """Return the number of spikes, or `None` without a sample, since 0 of 0 is no data."""
    return float(cell[1].arrivals.spikes_over_500ms) if cell[1].arrivals.samples else None


def _lost_share(cell: ArmFigures) -> float | None:
    return cell[0].lost / cell[0].expected if cell[0].expected else None


STRESS: tuple[tuple[str, str, str, Figure], ...] = (
    ("delivery_ms_mean", "delivery, mean", "ms", lambda cell: cell[0].delay_ms_mean),
    ("delivery_ms_p50", "delivery, p50", "ms", lambda cell: cell[0].delay_ms_p50),
    ("delivery_ms_p95", "delivery, p95", "ms", lambda cell: cell[0].delay_ms_p95),
    ("delivery_ms_max", "delivery, longest", "ms", lambda cell: cell[0].delay_ms_max),
    ("spikes_over_500ms_count", "over 500 ms", "deliveries", _spikes),
    ("spikes_over_500ms_rate", "over 500 ms, rate", "share", lambda cell: cell[1].arrivals.spike_share),
    ("real_errors_rate", "errors; lost", "share", _lost_share),
    ("connections_max", "connections", "clients", lambda cell: float(cell[0].clients)),
    ("handshake_ms_p50", "handshake; set-up, median", "ms", lambda cell: cell[1].course.setup_ms_p50),
    ("redis_round_trip_ms_mean", "Redis round trip, mean", "ms", lambda _: None),
    ("event_loop_ms_mean", "event loop, mean", "ms", lambda _: None),
    ("http_failure_rate", "HTTP failures", "share", lambda _: None),
)

CACHE: tuple[tuple[str, str, str], ...] = (
    ("miss_ms_mean", "cache miss, mean", "ms"),
    ("miss_ms_p95", "cache miss, p95", "ms"),
    ("hit_ms_mean", "cache hit, mean", "ms"),
    ("hit_ms_p95", "cache hit, p95", "ms"),
    ("requests_per_s", "requests", "1/s"),
)

STRESS_NOTE = (
    "C1: broadcast within the process; C2: over Redis; C3: over Redis, with a warmed HTTP cache. Round trips to a broker, "
    "the event loop and HTTP failures are measured by `./siar load --preset vps` and not by this run."
)

CACHE_NOTE = "No cache is in the way of notifications; `./siar load --preset vps` measures one for who asks for history."

DIFFERENCES = (
    "Its server is one vCPU behind nginx with TLS, and where its load came from is said in two ways, once the same machine.",
    "Its delivery time is Date.now() less the time of publishing, in whole milliseconds of two clocks; one run for each "
    "configuration, without an interval.",
    "920 spikes are 2.75 broadcasts to 335 clients, with a longest of 1,000 to 1,030 ms, which is the publishing period: a "
    "handful of events at most. The figures by characteristic count both, deliveries and events.",
    "Its 18 ms of Redis overhead are a difference of means, while the median went from 21 to 22 ms: the spikes alone add 16 ms.",
    "Its handshake is the median; the same output has a mean of 2.91 s, a p95 of 14.49 s and a longest of 17.02 s.",
    "Its zero errors are 0 of 0: the metric never had a sample, and 165 of 500 users never connected. Here an expected "
    "notification without an arrival is lost, whatever the reason.",
)


def redis_tables(analysis: Analysis) -> StudyTables:
    """Return its two tables, with the run's figures at the smallest and the largest count of clients."""
    study, columns = study_of(STUDY), smallest_and_largest(analysis)
    measured = headings(analysis, columns)
    plan = analysis.run.plan
    stress = [
        _row(study["stress"], name, title, unit, [figure(cell) for cell in columns])
        for name, title, unit, figure in STRESS
    ]
    per_s = [_deliveries_per_s(cell, plan) for cell in columns]
    stress.insert(6, _row(study["stress"], "broadcast_messages_per_s", "deliveries", "1/s", per_s))
    cache = [
        _row(study["http_cache"], name, title, unit, [None] * len(columns)) for name, title, unit in CACHE
    ]
    return StudyTables(
        id=STUDY,
        title=study["title"],
        setup=f"{study['setup']['server']}; {study['setup']['load']}",
        tables=(
            StudyTable("Stress", COLUMNS, measured, tuple(stress), STRESS_NOTE),
            StudyTable("HTTP cache", COLUMNS, measured, tuple(cache), CACHE_NOTE),
        ),
        differences=DIFFERENCES,
    )


def _row(table: dict[str, Any], name: str, title: str, unit: str, measured: list[float | None]) -> StudyRow:
    return StudyRow(title, unit, tuple(table[name][each] for each in COLUMNS), tuple(measured))


def _deliveries_per_s(cell: ArmFigures, plan: Plan) -> float | None:
    """Return the deliveries per second of the time in which they were due."""
    row, own = cell[0], arm_plan(plan, cell[0].arm)
    seconds = row.trials * own.notifications / own.rate_hz
    return row.delivered / seconds if seconds else None
