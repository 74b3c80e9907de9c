"""Tables of the published Redis study, stress test and cache, with the run's figures in the same rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from app.core.messages import Message
from app.core.plan.scenario import Plan, arm_plan
from app.lab.analysis.analyse import Analysis
from app.lab.studies.published import study_of
from app.lab.studies.tables import (
    ArmFigures,
    StudyRow,
    StudyTable,
    StudyTables,
    differences,
    headings,
    smallest_and_largest,
)

STUDY = "purbaya-websocket-redis"
"""Id of the study in `published.json`."""

COLUMNS = ("C1", "C2", "C3")
"""The study's columns: its configurations without Redis (C1), with Redis (C2), and with Redis and an HTTP cache (C3)."""

Figure = Callable[[ArmFigures], float | None]
"""Returns one figure of an arm at one count of clients; `None` where the run did not measure it."""


def _spikes(cell: ArmFigures) -> float | None:
    """Return the number of deliveries over 500 ms, or `None` without any usable delay, since 0 of 0 is no data."""
    return float(cell[1].arrivals.spikes_over_500ms) if cell[1].arrivals.samples else None


def _lost_share(cell: ArmFigures) -> float | None:
    return cell[0].lost / cell[0].expected if cell[0].expected else None


STRESS: tuple[tuple[str, str, str, Figure], ...] = (
    ("delivery_ms_mean", "study.row.delivery_mean", "ms", lambda cell: cell[0].delay_ms_mean),
    ("delivery_ms_p50", "study.row.delivery_p50", "ms", lambda cell: cell[0].delay_ms_p50),
    ("delivery_ms_p95", "study.row.delivery_p95", "ms", lambda cell: cell[0].delay_ms_p95),
    ("delivery_ms_max", "study.row.delivery_longest", "ms", lambda cell: cell[0].delay_ms_max),
    ("spikes_over_500ms_count", "study.row.over_500_ms", "deliveries", _spikes),
    (
        "spikes_over_500ms_rate",
        "study.row.over_500_ms_rate",
        "share",
        lambda cell: cell[1].arrivals.spike_share,
    ),
    ("real_errors_rate", "study.row.errors_lost", "share", _lost_share),
    ("connections_max", "unit.connections", "clients", lambda cell: float(cell[0].clients)),
    (
        "handshake_ms_p50",
        "study.row.handshake_set_up_median",
        "ms",
        lambda cell: cell[1].course.setup_ms_p50,
    ),
    ("redis_round_trip_ms_mean", "study.row.redis_round_trip_mean", "ms", lambda _: None),
    ("event_loop_ms_mean", "study.row.event_loop_mean", "ms", lambda _: None),
    ("http_failure_rate", "study.row.http_failures", "share", lambda _: None),
)
"""Rows of the stress table: (name in `published.json`, name in the catalogue of texts, unit, function that returns the
run's figure)."""

CACHE: tuple[tuple[str, str, str], ...] = (
    ("miss_ms_mean", "study.row.cache_miss_mean", "ms"),
    ("miss_ms_p95", "study.row.cache_miss_p95", "ms"),
    ("hit_ms_mean", "study.row.cache_hit_mean", "ms"),
    ("hit_ms_p95", "study.row.cache_hit_p95", "ms"),
    ("requests_per_s", "study.row.requests", "1/s"),
)
"""Rows of the cache table: (name in `published.json`, name in the catalogue of texts, unit). A run has no such figures."""

DIFFERENCES = differences("redis", 6)


def redis_tables(analysis: Analysis) -> StudyTables:
    """Return the study's two tables, with the run's figures at the smallest and the largest count of clients."""
    study, columns = study_of(STUDY), smallest_and_largest(analysis)
    measured = headings(analysis, columns)
    plan = analysis.run.plan
    stress = [
        _row(study["stress"], name, title, unit, [figure(cell) for cell in columns])
        for name, title, unit, figure in STRESS
    ]
    per_s = [_deliveries_per_s(cell, plan) for cell in columns]
    stress.insert(6, _row(study["stress"], "broadcast_messages_per_s", "unit.deliveries", "1/s", per_s))
    cache = [
        _row(study["http_cache"], name, title, unit, [None] * len(columns)) for name, title, unit in CACHE
    ]
    return StudyTables(
        id=STUDY,
        title=study["title"],
        setup=Message("study.redis.setup"),
        tables=(
            StudyTable(
                Message("study.table.stress"), COLUMNS, measured, tuple(stress), Message("study.note.stress")
            ),
            StudyTable(
                Message("study.table.http_cache"),
                COLUMNS,
                measured,
                tuple(cache),
                Message("study.note.cache"),
            ),
        ),
        differences=DIFFERENCES,
    )


def _row(table: dict[str, Any], name: str, title: str, unit: str, measured: list[float | None]) -> StudyRow:
    return StudyRow(Message(title), unit, tuple(table[name][each] for each in COLUMNS), tuple(measured))


def _deliveries_per_s(cell: ArmFigures, plan: Plan) -> float | None:
    """Return the deliveries per second of the time in which notifications were due; `None` without a trial."""
    row, own = cell[0], arm_plan(plan, cell[0].arm)
    seconds = row.trials * own.notifications / own.rate_hz
    return row.delivered / seconds if seconds else None
