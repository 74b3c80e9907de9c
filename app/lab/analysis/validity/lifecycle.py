"""Checks that a trial ran as planned, and that every phone took part from beginning to end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from app.core.plan.scenario import Plan
from app.core.trial import TrialRecord, TrialWarning
from app.lab.analysis.columns import columns_of, first_of_each
from app.lab.analysis.validity.trial_warnings import note, void
from app.lab.analysis.words import pseudonyms


def completion_warnings(record: TrialRecord, plan: Plan) -> Iterator[TrialWarning]:
    """Check that the trial ran to its end, without broken connections or other requests."""
    planned = 0 if record.spec.idle else plan.notifications + plan.warmup_notifications
    if not record.completed or record.published < planned:
        yield void("incomplete", published=record.published, planned=planned)
    if record.disconnects:
        yield void("disconnected", count=record.disconnects)
    if record.disturbances:
        yield note("disturbed", count=record.disturbances)


def phone_warnings(record: TrialRecord) -> Iterator[TrialWarning]:
    """Check by the phones' own reports that each of them took part from beginning to end."""
    if record.spec.idle or not record.published:
        return
    reports = {each.client: each for each in record.lifecycle_reports}
    if silent := [client for client in record.participants if client not in reports]:
        yield void("phone_silent", phones=pseudonyms(silent))
    if asleep := [client for client, each in reports.items() if each.asleep_ms > 0]:
        longest_ms = max(reports[client].asleep_ms for client in asleep)
        yield void("asleep", phones=pseudonyms(asleep), longest_ms=float(longest_ms))
    if reloaded := [client for client, each in reports.items() if each.reload_count]:
        yield void("reloaded", phones=pseudonyms(reloaded))
    if stepped := [client for client, each in reports.items() if each.clock_steps]:
        yield void("clock_step", phones=pseudonyms(stepped))
    posted = _arrived_by_client(record) if reports else Counter[int]()
    if short := [client for client, each in reports.items() if posted[client] < each.received_count]:
        yield void("samples_missing", phones=pseudonyms(short))


def _arrived_by_client(record: TrialRecord) -> Counter[int]:
    """Count the distinct notifications that each client received, warm-up included."""
    columns = columns_of(record.deliveries)
    clients, counts = np.unique(
        columns.client[first_of_each(columns, columns.has_arrived)], return_counts=True
    )
    return Counter(dict(zip(clients.tolist(), counts.tolist(), strict=True)))
