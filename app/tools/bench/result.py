"""The machine-readable result, schema 1: all raw cells and their summary."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence

from app.tools.bench.criteria import Criterion
from app.tools.bench.machine import Cores
from app.tools.bench.run import BenchRun
from app.tools.bench.summary import PAIRS, Growth, SummaryRow

SCHEMA = 1


def result_text(
    done: BenchRun,
    rows: Sequence[SummaryRow],
    growths: Sequence[Growth],
    found: Sequence[Criterion],
    *,
    cores: Cores,
    conditions: Mapping[str, object],
    further: Mapping[str, object] | None = None,
) -> str:
    """Return the JSON document; `further`: parts that only this kind of bench has."""
    document = {
        "schema": SCHEMA,
        "kind": "bench",
        "valid": done.is_valid,
        "duration_s": round(done.duration_s, 3),
        "plan": dataclasses.asdict(done.plan),
        "cores": {"server": cores.server, "swarm": cores.swarm},
        "conditions": dict(conditions),
        "summary": [
            {**dataclasses.asdict(row), "ratios": {f"{of}/{to}": row.ratio(of, to) for of, to in PAIRS}}
            for row in rows
        ],
        "growth": [{**dataclasses.asdict(each), "exponent": each.exponent} for each in growths],
        "criteria": [{**dataclasses.asdict(each), "met": each.met} for each in found],
        **(further or {}),
        "cells": [{**dataclasses.asdict(cell), "valid": cell.is_valid} for cell in done.cells],
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"
