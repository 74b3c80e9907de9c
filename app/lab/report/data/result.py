"""`result.json`: the analysis as plain JSON values, schema 1. A value that does not exist is null, never 0 or NaN.

Required keys are those of docs/formats.md. Further ones may come with any version; readers skip what they
do not know. `estimate` is b minus a; `low` and `high` are the 95 % interval, `holm_low` and `holm_high` the one that
the verdict comes from.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from math import isfinite
from typing import Any

from app.core.lifecycle import LifecycleReport
from app.core.plan.scenario import plan_to_json
from app.core.trial import TrialWarning
from app.core.version import VERSION
from app.i18n import LANGUAGES, text
from app.lab.analysis.alternative_methods import AlternativeMethods, alternative_methods
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.comparison.compare_arms import Comparison
from app.lab.analysis.comparison.sentences import sentence
from app.lab.analysis.descriptive.arm_rows import DescriptiveRow, descriptive_rows
from app.lab.analysis.descriptive.timeline import timeline_figures
from app.lab.analysis.descriptive.within_trial_ci import within_trials
from app.lab.analysis.headline import headline
from app.lab.analysis.metrics.cpu import idle_rate
from app.lab.analysis.summary import AnalysedIdle, AnalysedTrial, SummaryRow
from app.lab.analysis.validity.trial_warnings import texts
from app.lab.analysis.words import pseudonym
from app.lab.report.data.headline import headline_json, verdict_json
from app.lab.report.figures.factors import arm_shares, factor_tables
from app.lab.studies.registry import all_study_tables
from app.lab.studies.tables import study_json

SCHEMA = 1

Json = dict[str, Any]


def result_json(analysis: Analysis) -> Json:
    """Return the whole result, ready for `json.dumps`."""
    run, within_trial_ci, found = analysis.run, _within_trial_cis(analysis), headline(analysis)
    alternatives = {
        (each.comparison.metric, each.comparison.b.name, each.comparison.clients): methods_json(each)
        for each in alternative_methods(analysis)
    }
    return {
        "schema": SCHEMA,
        "run": {
            "id": run.id,
            "started": run.started,
            "complete": run.complete,
            "simulated": run.simulated,
            "seed": run.plan.seed,
            "plan_sha256": analysis.plan_sha256,
            "version": VERSION,
        },
        "trials": [
            {**_trial(each), "within": within_trial_ci.get(each.record.spec.index, [])}
            for each in analysis.trials
        ],
        "headline": headline_json(found.kind, found.sentence),
        "verdict": verdict_json(found.kind, found.sentence),
        "comparison": [
            {
                **_comparison(each, analysis.noun),
                "beside": alternatives.get((each.metric, each.b.name, each.clients)),
            }
            for each in analysis.comparisons
        ],
        "idle": [_idle(each) for each in analysis.idle],
        "summary": [
            {**_summary(row), "further": descriptive_json(figures)}
            for row, figures in zip(analysis.summary, descriptive_rows(analysis), strict=True)
        ],
        "factors": factors_json(analysis),
        "published": published_json(analysis),
        "totals": asdict(analysis.totals),
        "warnings": [{**_warning(group.first), "trials": list(group.trials)} for group in analysis.warnings],
        "plan": plan_to_json(run.plan),
        "conditions": _finite(run.conditions),
    }


def result_text(analysis: Analysis) -> str:
    """Return the result as text, one line per value, ASCII only. Raises `ValueError` for a NaN."""
    return json.dumps(result_json(analysis), indent=1, allow_nan=False) + "\n"


def _within_trial_cis(analysis: Analysis) -> dict[int, list[Json]]:
    """Return the confidence intervals of each trial's own quantiles, by trial."""
    found: dict[int, list[Json]] = {}
    for each in within_trials(analysis):
        found.setdefault(each.trial, []).append({"client": each.client, **asdict(each.quantile)})
    return found


def _trial(trial: AnalysedTrial) -> Json:
    spec, metrics, cpu = trial.record.spec, trial.metrics, trial.cpu
    return {
        "trial": spec.index,
        "arm": spec.arm.name,
        "transport": spec.arm.transport,
        "factors": dict(spec.arm.factors),
        "clients": spec.clients,
        "block": spec.block,
        "notifications": metrics.notifications,
        "expected": metrics.expected,
        "delivered": metrics.delivered,
        "lost": metrics.lost,
        "late": metrics.late,
        "replayed": metrics.replayed,
        "duplicates": metrics.duplicates,
        "out_of_order": metrics.out_of_order,
        "delay_ms": asdict(metrics.delay_ms),
        "kernel_delay_ms": asdict(metrics.kernel_delay_ms),
        "client_share_ms_p50": metrics.client_share_ms_p50,
        "samples": metrics.samples,
        "left_out": dict(metrics.left_out),
        "clock_bound_ms": metrics.clock_bound_ms,
        "source_lag_ms_p99": metrics.source_lag_ms_p99,
        "client_loop_lag_ms_p99": trial.record.client_loop_lag_ms_p99,
        "jitter_ms": metrics.jitter_ms,
        "cpu": asdict(cpu),
        "course": asdict(timeline) if (timeline := timeline_figures(trial)) is not None else None,
        "cpu_seconds": [asdict(each) for each in trial.record.timeline.cpu_seconds]
        if trial.record.timeline is not None
        else None,
        "split": asdict(trial.split) if trial.split is not None else None,
        "participants": [pseudonym(client) for client in trial.record.participants],
        "conducts": [_lifecycle(each) for each in trial.record.lifecycle_reports],
        "valid": trial.valid,
        "in_comparison": trial.in_comparison,
        "warnings": [_warning(each) for each in trial.warnings],
    }


def _lifecycle(report: LifecycleReport) -> Json:
    values = asdict(report)
    del values["client"], values["events"]
    return {"participant": pseudonym(report.client), **values}


def _idle(idle: AnalysedIdle) -> Json:
    spec, rate = idle.record.spec, idle_rate(idle.cpu)
    return {
        "trial": spec.index,
        "arm": spec.arm.name,
        "transport": spec.arm.transport,
        "clients": spec.clients,
        "block": spec.block,
        "wall_s": idle.cpu.wall_s if idle.cpu else None,
        "total_s": idle.cpu.total_s if idle.cpu else None,
        "core_percent": None if rate is None else 100 * rate,
        "valid": idle.valid,
        "warnings": [_warning(each) for each in idle.warnings],
    }


def _comparison(comparison: Comparison, noun: str) -> Json:
    return {
        "metric": comparison.metric,
        "family": comparison.family,
        "clients": comparison.clients,
        "a": comparison.a.name,
        "b": comparison.b.name,
        "estimate": comparison.estimate,
        "low": comparison.interval.low,
        "high": comparison.interval.high,
        "verdict": comparison.verdict.value,
        "equivalent": comparison.equivalent,
        "text": text(sentence(comparison, noun=noun), LANGUAGES[0]),
        "ratio": comparison.ratio,
        "blocks": comparison.blocks,
        "blocks_valid": comparison.blocks_valid,
        "blocks_complete": comparison.blocks_complete,
        "differences": [{"block": block, "value": value} for block, value in comparison.differences],
        "holm_level": comparison.holm_interval.level,
        "holm_low": comparison.holm_interval.low,
        "holm_high": comparison.holm_interval.high,
        "margin": comparison.margin,
        "equivalence_low": comparison.equivalence_interval.low,
        "equivalence_high": comparison.equivalence_interval.high,
        "p_signed_rank": comparison.p_signed_rank,
        "p_sign_flip": comparison.p_sign_flip,
        "p_holm": comparison.p_holm,
        "more_blocks": comparison.more_blocks,
    }


def _summary(row: SummaryRow) -> Json:
    """Return the pooled row without the distribution curve, for which `deliveries.csv` has all values."""
    values = asdict(row)
    for name in ("arm", "curve", "delta_points_by_trial", "client_means"):
        del values[name]
    return {
        "arm": row.arm.name,
        "transport": row.arm.transport,
        **values,
        "client_means": [asdict(each) for each in row.client_means],
    }


def _warning(warning: TrialWarning) -> Json:
    return {"code": warning.code, "severity": warning.severity.value, **texts(warning)}


def _finite(value: object) -> object:
    """Return recorded conditions, with null for values that JSON has not (NaN, infinity)."""
    if isinstance(value, dict):
        return {str(name): _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def methods_json(row: AlternativeMethods) -> dict[str, Any]:
    """Return results of alternative methods for one comparison; `study.blocks` has what each block alone would have given."""
    study = row.study
    return {
        "effect": asdict(row.effect) if row.effect else None,
        "normality": asdict(row.normality) if row.normality else None,
        "pooled": asdict(row.pooled),
        "study": {**asdict(study), "agrees": row.study_agrees} if study else None,
        "blocks_for_difference": row.blocks_for_difference,
        "blocks_for_equivalence": row.blocks_for_equivalence,
    }


def descriptive_json(row: DescriptiveRow) -> dict[str, Any]:
    """Return the descriptive figures that belong to one row of the summary."""
    values = asdict(row)
    del values["arm"], values["clients"]
    return {**values, "memory_kib_per_connection": row.memory.kib}


def factors_json(analysis: Analysis) -> list[dict[str, Any]]:
    """Return the factors' effects on each metric, and their shares in each arm's difference from the first arm."""
    return [
        {
            **asdict(table),
            "shares": [
                {"clients": clients, "difference": title, "parts": [asdict(part) for part in parts]}
                for metric, clients, title, parts in arm_shares(analysis)
                if metric == table.metric
            ],
        }
        for table in factor_tables(analysis)
    ]


def published_json(analysis: Analysis) -> list[dict[str, Any]]:
    """Return every study's figures next to this run's. `derived` lists indices into `published`."""
    return [study_json(study) for study in all_study_tables(analysis)]
