"""Checks that a trial ran as planned, and that every phone took part from beginning to end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from app.core.plan.scenario import Plan
from app.core.trial import TrialRecord, TrialWarning
from app.lab.analysis.columns import columns_of, first_of_each
from app.lab.analysis.validity.trial_warnings import note, void
from app.lab.analysis.words import count_of, listing, number, pseudonym


def completion_warnings(record: TrialRecord, plan: Plan) -> Iterator[TrialWarning]:
    """Check that the trial ran to its end, without broken connections or other requests."""
    planned = 0 if record.spec.idle else plan.notifications + plan.warmup_notifications
    if not record.completed or record.published < planned:
        yield void(
            "incomplete",
            f"The trial did not run to its end: {record.published} of {planned} notifications were published.",
            "Let the run finish; if it was not stopped by hand, look into the server's log.",
        )
    if record.disconnects:
        yield void(
            "disconnected",
            f"{count_of(record.disconnects, 'connection')} broke during the trial.",
            "Look for the reason in the server's log; on phones, keep the page visible and the screen on.",
        )
    if record.disturbances:
        yield note(
            "disturbed",
            f"The server answered {count_of(record.disturbances, 'other request')} during the trial.",
            "Close other pages of this server while it measures.",
        )


def phone_warnings(record: TrialRecord) -> Iterator[TrialWarning]:
    """Check by the phones' own reports that each of them took part from beginning to end."""
    if record.spec.idle or not record.published:
        return
    reports = {each.client: each for each in record.lifecycle_reports}
    if silent := [client for client in record.participants if client not in reports]:
        yield void(
            "phone_silent",
            f"{_phones_named(silent)} did not say how the trial went.",
            "Look whether it is still on this network and its page open.",
        )
    if asleep := [client for client, each in reports.items() if each.asleep_ms > 0]:
        longest_ms = max(reports[client].asleep_ms for client in asleep)
        yield void(
            "asleep",
            f"{_phones_named(asleep)} slept or hid the page for up to {number(longest_ms)} ms.",
            "Keep the page in front and the screen on: set the screen timeout to 10 minutes.",
        )
    if reloaded := [client for client, each in reports.items() if each.reload_count]:
        yield void(
            "reloaded",
            f"The page of {_phones_named(reloaded)} was loaded anew during the trial.",
            "Leave the page open until the end. What came before is kept, and what it missed was fetched again.",
        )
    if stepped := [client for client, each in reports.items() if each.clock_steps]:
        yield void(
            "clock_step",
            f"The clock of {_phones_named(stepped)} jumped during the trial.",
            "Keep the phone awake and its time setting alone; the block is repeated.",
        )
    posted = _arrived_by_client(record) if reports else Counter[int]()
    if short := [client for client, each in reports.items() if posted[client] < each.received_count]:
        yield void(
            "samples_missing",
            f"{_phones_named(short)} received more than it posted.",
            "Look at the network between phone and server; the page keeps what it could not post.",
        )


def _arrived_by_client(record: TrialRecord) -> Counter[int]:
    """Count the distinct notifications that each client received, warm-up included."""
    columns = columns_of(record.deliveries)
    clients, counts = np.unique(
        columns.client[first_of_each(columns, columns.has_arrived)], return_counts=True
    )
    return Counter(dict(zip(clients.tolist(), counts.tolist(), strict=True)))


def _phones_named(clients: Sequence[int]) -> str:
    """List phones by their pseudonyms, which count seats from 1."""
    return listing([pseudonym(client) for client in clients])
