"""The comparison of runs with the first one as plain JSON values, schema 1 (`compare --json`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from app.i18n import LANGUAGES, text
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.comparable import objections, setting_differences
from app.lab.analysis.compare_runs import RunShift, compare_runs, regressions
from app.lab.analysis.runs_gate import Figure, RunsGate, runs_gate
from app.lab.report.statements import change_sentence

SCHEMA = 1


def compared_json(analyses: Sequence[Analysis]) -> dict[str, Any]:
    """Return the whole comparison, ready for `json.dumps`. Rows are included even where there are objections."""
    runs = [each.run for each in analyses]
    rows = compare_runs(analyses)
    return {
        "schema": SCHEMA,
        "runs": [
            {"id": each.run.id, "started": each.run.started, "plan_sha256": each.plan_sha256}
            for each in analyses
        ],
        "settings": [
            {"name": each.name, "weight": each.weight.value, "values": list(each.values)}
            for each in setting_differences(runs)
        ],
        "objections": [text(each, LANGUAGES[0]) for each in objections(runs)],
        "rows": [_row_json(each) for each in rows],
        "regressions": [text(change_sentence(each), LANGUAGES[0]) for each in regressions(rows)],
        "gate": _gate_json(runs_gate(analyses, rows)),
    }


def _gate_json(gate: RunsGate) -> dict[str, Any]:
    return {
        "verdict": gate.verdict.value,
        "figures": len(gate.expected),
        "worse": gate.worse,
        "not_judged": [_figure_json(each) for each in gate.unjudged],
    }


def _figure_json(figure: Figure) -> dict[str, Any]:
    return {**asdict(figure), "arm": figure.arm.name}


def _row_json(row: RunShift) -> dict[str, Any]:
    return {
        **asdict(row),
        "arm": row.arm.name,
        "less": row.less.name if row.less else None,
        "change": row.change.value,
        "text": text(change_sentence(row), LANGUAGES[0]),
    }
