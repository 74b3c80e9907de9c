"""Between the values of the vocabulary and rows of the store: one pair of functions per table."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

import msgspec

from app.core.delivery import Delivery
from app.core.plan.scenario import Arm, TrialSpec
from app.core.trial import CpuUse, TrialRecord, TrialWarning

CPU_COLUMNS = tuple(each.name for each in fields(CpuUse))

_arm = msgspec.json.Decoder(Arm)
_lags = msgspec.json.Decoder(tuple[int, ...])
_warnings = msgspec.json.Decoder(tuple[TrialWarning, ...])


def trial_values(record: TrialRecord) -> dict[str, Any]:
    """The row of table `trial`."""
    spec = record.spec
    return {
        "trial": spec.index,
        "block": spec.block,
        "clients": spec.clients,
        "arm": json.dumps(asdict(spec.arm)),
        "idle": spec.idle,
        "started_us": record.started_us,
        "ended_us": record.ended_us,
        "published": record.published,
        "source_lag_us": json.dumps(record.source_lag_us),
        "client_loop_lag_ms_p99": record.client_loop_lag_ms_p99,
        "client_cpu_s": record.client_cpu_s,
        "disconnects": record.disconnects,
        "disturbances": record.disturbances,
        "completed": record.completed,
        "warnings": json.dumps([asdict(warning) for warning in record.warnings]),
    }


def trial_record(row: sqlite3.Row, deliveries: Sequence[Delivery], cpu: CpuUse | None) -> TrialRecord:
    """The record that `trial_values` wrote, with its deliveries and CPU use. Raises `ValueError` for JSON of another form."""
    return TrialRecord(
        spec=TrialSpec(
            index=row["trial"],
            block=row["block"],
            clients=row["clients"],
            arm=_arm.decode(row["arm"]),
            idle=bool(row["idle"]),
        ),
        started_us=row["started_us"],
        ended_us=row["ended_us"],
        published=row["published"],
        source_lag_us=_lags.decode(row["source_lag_us"]),
        deliveries=deliveries,
        cpu=cpu,
        client_loop_lag_ms_p99=row["client_loop_lag_ms_p99"],
        client_cpu_s=row["client_cpu_s"],
        disconnects=row["disconnects"],
        disturbances=row["disturbances"],
        completed=bool(row["completed"]),
        warnings=_warnings.decode(row["warnings"]),
    )


def cpu_use(row: tuple[Any, ...]) -> CpuUse:
    """The CPU use whose `CPU_COLUMNS` these are."""
    values = dict(zip(CPU_COLUMNS, row, strict=True))
    values["total_is_ns"] = bool(values["total_is_ns"])
    return CpuUse(**values)
