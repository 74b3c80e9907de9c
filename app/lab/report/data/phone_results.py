"""Each phone's own result, `<run>/results/<key>.json`, which its page reads by an unguessable key.

The file holds what one participant measured and the run's verdict. It has no name, no device, and no other participant's data.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from app.core.delivery import Delivery, Outcome
from app.core.errors import StoreError
from app.core.plan.scenario import Arm
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.columns import columns_of
from app.lab.analysis.metrics.trial_metrics import is_sample, supported_quantile
from app.lab.analysis.summary import AnalysedTrial
from app.lab.analysis.words import arm_title, pseudonym
from app.store.archive.folders import replace_file
from app.store.archive.names import NAMES_FILE

FOLDER = "results"

KEY_BYTES = 16
"""128 random bits."""

SCHEMA = 1

Json = dict[str, Any]


def write_phone_results(
    analysis: Analysis, folder: Path, verdict: Json, clients: Sequence[int]
) -> dict[int, str]:
    """Write one file for each of `clients`, with the run's `verdict`; return the key of each."""
    results = folder / FOLDER
    results.mkdir(mode=0o700, exist_ok=True)
    keys = {}
    for client in clients:
        keys[client] = secrets.token_hex(KEY_BYTES)
        text = json.dumps(phone_result(analysis, client, verdict), indent=1, allow_nan=False) + "\n"
        _write_private(results / f"{keys[client]}.json", text)
    return keys


def phone_result(analysis: Analysis, client: int, verdict: Json) -> Json:
    """Return what one phone measured, per arm, with the median of all phones."""
    run = analysis.run
    return {
        "schema": SCHEMA,
        "run": run.id,
        "started": run.started,
        "complete": run.complete,
        "simulated": run.simulated,
        "pseudonym": pseudonym(client),
        "seat": client + 1,
        "phones": len(analysis.phones),
        "arms": [_arm(analysis, arm, client) for arm in run.plan.arms],
        "verdict": verdict,
    }


def write_participants(folder: Path, participants: Sequence[Mapping[str, Any]]) -> None:
    """Write `participants.json`, which maps pseudonyms to names. It is readable by this user only, and part of no export."""
    text = json.dumps({"schema": SCHEMA, "participants": list(participants)}, indent=1) + "\n"
    _write_private(folder / NAMES_FILE, text)


def _write_private(path: Path, text: str) -> None:
    """Write a file that only this user can read, from its first byte on. Raises `StoreError`."""
    try:
        replace_file(path, text)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}.") from error


def _arm(analysis: Analysis, arm: Arm, client: int) -> Json:
    """Return one phone's figures of an arm: delays of valid trials, and outcomes of all trials, invalid ones included."""
    trials = [
        each
        for each in analysis.trials
        if each.record.spec.arm.name == arm.name and client in each.record.participants
    ]
    own = [(trial, _deliveries_of(trial, client)) for trial in trials]
    samples = [each for trial, rows in own if trial.in_comparison for each in rows if is_sample(each)]
    delays_ms = [each.delay_ms for each in samples if each.delay_ms is not None]
    outcomes = [each.outcome for _, rows in own for each in rows if not each.warmup]
    broadcasts = len(delays_ms)
    return {
        "arm": arm.name,
        "title": arm_title(arm),
        "transport": arm.transport,
        "factors": dict(arm.factors),
        "trials": len(trials),
        "trials_valid": sum(trial.in_comparison for trial in trials),
        "samples": len(delays_ms),
        "delay_ms_p25": supported_quantile(delays_ms, 0.25, broadcasts=broadcasts),
        "delay_ms_p50": supported_quantile(delays_ms, 0.50, broadcasts=broadcasts),
        # A quartile is no tail: five samples suffice, where the rule for tails would require twenty.
        "delay_ms_p75": supported_quantile(delays_ms, 0.75, broadcasts=4 * broadcasts),
        "delay_ms_p95": supported_quantile(delays_ms, 0.95, broadcasts=broadcasts),
        "clock_bound_ms": max(map(_bound_ms, samples), default=None),
        "on_time": outcomes.count(Outcome.ON_TIME),
        "late": outcomes.count(Outcome.LATE),
        "replayed": outcomes.count(Outcome.REPLAYED),
        "lost": outcomes.count(Outcome.LOST),
        "asleep": sum(_was_asleep(trial, client) for trial in trials),
        "all_delay_ms_p50": _median_of_all_ms(analysis, arm),
    }


def _deliveries_of(trial: AnalysedTrial, client: int) -> Sequence[Delivery]:
    columns = columns_of(trial.record.deliveries)
    return columns.rows(columns.client == client)


def _bound_ms(delivery: Delivery) -> float:
    return (delivery.clock_bound_us or 0.0) / 1000


def _was_asleep(trial: AnalysedTrial, client: int) -> bool:
    return any(each.client == client and each.asleep_ms > 0 for each in trial.record.lifecycle_reports)


def _median_of_all_ms(analysis: Analysis, arm: Arm) -> float | None:
    """Return the median delay of all phones at the largest count of clients."""
    rows = [row for row in analysis.summary if row.arm.name == arm.name]
    return max(rows, key=lambda row: row.clients).delay_ms_p50 if rows else None
