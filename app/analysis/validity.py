"""Whether a trial's figures may be believed: typed warnings, from stored data alone.

The runner asks after each trial, and repeats the block when there is a VOID; the analysis asks again on each
re-draw, and gets the same answer. What is judged here is the instrument, never the result: a transport that loses
notifications is slow or dear must be able to say so. Hence:

    void   the figures do not mean what they say: source or clock out of bounds, clients gone, trial cut short,
           other programs on the machine that took half of it
    note   something to know beside the figures, which stand: lost and late ones, a slow client loop, other load

Limits are those of `measurement.md` (section 2, void rules), with two departures for trials of a second on a
machine that server and clients share: a slow client loop is a note, since it is a condition that all arms have in
common; and other load is a note from 2 % of a core on and void from half of the machine on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from app.analysis.columns import Columns, columns_of, first_of_each
from app.analysis.metrics import TrialMetrics, measure
from app.analysis.signatures import CODES as SIGNATURES
from app.analysis.signatures import signatures
from app.analysis.split import Split, split
from app.analysis.words import count_of, listing, number, pseudonym, states
from app.core.delivery import SampleState
from app.core.scenario import Plan
from app.core.trial import CpuUse, Severity, TrialRecord, TrialWarning

SOURCE_LAG_MS_MAX = 5.0
"""p99 of sent - due: beyond it the source is measured, not the transport."""

CLOCK_BOUND_MS_MAX = 5.0
"""U_max of `measurement.md` section 1."""

CLIENT_LAG_MS_MIN = 1.0
CLIENT_LAG_SHARE = 0.10
"""A client's loop may be late by 1 ms or a tenth of the median delay, whichever is more."""

OTHER_LOAD_CORES_NOTE = 0.02
OTHER_LOAD_MACHINE_VOID = 0.5
"""Half of the machine: on two cores a whole one, so that server and clients had to share the other. Below, what load
does shows where it matters, in the lag of source and clients, and both arms of a block have much the same."""

CPU_TICK_S = 0.01
"""The machine's busy time counts in ticks for each core: a trial of a second cannot resolve 2 % of a core."""

KERNEL_STAMPS_MISSING_MAX = 0.01

LEFT_OUT_SHARE_VOID = 0.5
"""With half of the arrivals left out, the rest no longer stands for the trial."""

OWN_CODES = frozenset(
    {
        *("incomplete", "disconnected", "source_late", "clock_wide", "negative_delay", "wrong_transport"),
        *("samples_left_out", "lost_or_late", "client_slow", "machine_busy", "disturbed"),
        *("kernel_stamps_missing", "cpu_coarse", "not_recorded"),
        *("asleep", "reloaded", "clock_step", "phone_silent", "samples_missing"),
        *SIGNATURES,
    }
)
"""What is found out here; a stored warning with one of these codes gives way to the one found now."""


@dataclass(frozen=True, slots=True)
class TrialFigures:
    """What a trial (not an idle window) is judged by, and the report shows: computed once for both."""

    metrics: TrialMetrics
    split: Split | None


def figures_of(record: TrialRecord, plan: Plan) -> TrialFigures:
    """The figures of a trial."""
    return TrialFigures(measure(record, plan), split(record))


def check_trial(
    record: TrialRecord, plan: Plan, figures: TrialFigures | None = None
) -> tuple[TrialWarning, ...]:
    """All warnings of a trial or idle window, voiding ones first; those of the runner with other codes kept.

    `figures`: where they are there already.
    """
    found = [*_conduct(record, plan), *_phones(record), *_machine(record)]
    if not record.spec.idle:
        figures = figures or figures_of(record, plan)
        metrics = figures.metrics
        found += [*_instrument(record, metrics), *_samples(record, figures), *_result(metrics)]
        found += signatures(record, plan)
    kept = [warning for warning in record.warnings if warning.code not in OWN_CODES]
    return tuple(sorted([*found, *kept], key=lambda warning: warning.severity is not Severity.VOID))


def is_valid(warnings: tuple[TrialWarning, ...]) -> bool:
    """Whether none of them voids the trial."""
    return all(warning.severity is not Severity.VOID for warning in warnings)


def other_load_s(record: TrialRecord) -> float | None:
    """CPU seconds of everything on the machine but the server and the clients; `None` when not known."""
    if record.cpu is None or record.client_cpu_s is None:
        return None
    return record.cpu.machine_busy_s - record.cpu.total_s - record.client_cpu_s


def _conduct(record: TrialRecord, plan: Plan) -> Iterator[TrialWarning]:
    """Whether the trial ran as planned."""
    planned = 0 if record.spec.idle else plan.notifications + plan.warmup_notifications
    if not record.completed or record.published < planned:
        yield _void(
            "incomplete",
            f"The trial did not run to its end: {record.published} of {planned} notifications were published.",
            "Let the run finish; if it was not stopped by hand, look into the server's log.",
        )
    if record.disconnects:
        yield _void(
            "disconnected",
            f"{count_of(record.disconnects, 'connection')} broke during the trial.",
            "Look for the reason in the server's log; on phones, keep the page visible and the screen on.",
        )
    if record.disturbances:
        yield _note(
            "disturbed",
            f"The server answered {count_of(record.disturbances, 'other request')} during the trial.",
            "Close other pages of this server while it measures.",
        )


def _phones(record: TrialRecord) -> Iterator[TrialWarning]:
    """Whether every phone attended from beginning to end, by its own account."""
    if record.spec.idle or not record.published:
        return
    said = {each.client: each for each in record.conducts}
    if silent := [client for client in record.participants if client not in said]:
        yield _void(
            "phone_silent",
            f"{_phones_named(silent)} did not say how the trial went.",
            "Look whether it is still on this network and its page open.",
        )
    if asleep := [client for client, each in said.items() if each.asleep_ms > 0]:
        longest_ms = max(said[client].asleep_ms for client in asleep)
        yield _void(
            "asleep",
            f"{_phones_named(asleep)} slept or hid the page for up to {number(longest_ms)} ms.",
            "Keep the page in front and the screen on: set the screen timeout to 10 minutes.",
        )
    if reloaded := [client for client, each in said.items() if each.reload_count]:
        yield _void(
            "reloaded",
            f"The page of {_phones_named(reloaded)} was loaded anew during the trial.",
            "Leave the page open until the end. What came before is kept, and what it missed was fetched again.",
        )
    if stepped := [client for client, each in said.items() if each.clock_steps]:
        yield _void(
            "clock_step",
            f"The clock of {_phones_named(stepped)} jumped during the trial.",
            "Keep the phone awake and its time setting alone; the block is repeated.",
        )
    posted = _arrived_by_client(record) if said else Counter[int]()
    if short := [client for client, each in said.items() if posted[client] < each.received_count]:
        yield _void(
            "samples_missing",
            f"{_phones_named(short)} received more than it posted.",
            "Look at the network between phone and server; the page keeps what it could not post.",
        )


def _arrived_by_client(record: TrialRecord) -> Counter[int]:
    """How many notifications came to each client, warm-up included, each counted once."""
    columns = columns_of(record.deliveries)
    clients, counts = np.unique(
        columns.client[first_of_each(columns, columns.has_arrived)], return_counts=True
    )
    return Counter(dict(zip(clients.tolist(), counts.tolist(), strict=True)))


def _phones_named(clients: Sequence[int]) -> str:
    """Phones by their pseudonyms; seats count from 1."""
    return listing([pseudonym(client) for client in clients])


def _instrument(record: TrialRecord, metrics: TrialMetrics) -> Iterator[TrialWarning]:
    """Source and clients: whether they were on time themselves."""
    lag_ms = metrics.source_lag_ms_p99
    if lag_ms is not None and lag_ms > SOURCE_LAG_MS_MAX:
        yield _void(
            "source_late",
            f"The source was late itself: p99 {number(lag_ms)} ms, limit {number(SOURCE_LAG_MS_MAX)} ms.",
            "Lower the rate or the number of clients, or free the machine of other work.",
        )
    limit_ms = max(CLIENT_LAG_MS_MIN, CLIENT_LAG_SHARE * (metrics.delay_ms.p50 or 0.0))
    loop_ms = record.client_loop_lag_ms_p99
    if loop_ms is not None and loop_ms > limit_ms:
        yield _note(
            "client_slow",
            f"The clients' own loop was late: p99 {number(loop_ms)} ms, limit {number(limit_ms)} ms.",
            "Read the kernel's stamps beside the delays; fewer clients per process or more cores help.",
        )


def _samples(record: TrialRecord, figures: TrialFigures) -> Iterator[TrialWarning]:
    """Clock and transport of the arrivals."""
    metrics, columns = figures.metrics, columns_of(record.deliveries)
    no_clock = metrics.left_out.get(SampleState.NO_CLOCK, 0) + metrics.left_out.get(SampleState.WIDE_U, 0)
    bound_ms = metrics.clock_bound_ms
    if no_clock or (bound_ms is not None and bound_ms > CLOCK_BOUND_MS_MAX):
        widest = f", the widest bound used is {number(bound_ms)} ms" if bound_ms is not None else ""
        # One phone of several behind a slow radio is left out of all arms alike, and the others stand for the trial;
        # built-in clients share one clock, and what is wrong with one arrival is wrong with all.
        is_bearable = record.participants and no_clock <= LEFT_OUT_SHARE_VOID * metrics.delivered
        make = _note if is_bearable else _void
        yield make(
            "clock_wide",
            f"Clocks were not known within {number(CLOCK_BOUND_MS_MAX)} ms: {count_of(no_clock, 'arrival')} "
            f"without a good clock{widest}.",
            "Check that the clock channel is reachable and not behind a slow proxy; wait longer before a trial.",
        )
    if negative := _before_sent(columns):
        yield _void(
            "negative_delay",
            f"{count_of(negative, 'notification')} arrived before being sent, by more than the clock's bound.",
            "A clock stepped or the machine slept: keep it awake, and repeat the trial.",
        )
    if polling := metrics.left_out.get(SampleState.POLLING, 0):
        yield _void(
            "wrong_transport",
            f"{count_of(polling, 'arrival')} came over another transport than the arm's.",
            "A proxy or the page's settings keep WebSocket from being used; remove it or name another arm.",
        )
    if left_out := {
        state: n for state, n in metrics.left_out.items() if state not in ("no_clock", "wide_u", "polling")
    }:
        share = sum(left_out.values()) / metrics.delivered
        make = _void if share > LEFT_OUT_SHARE_VOID else _note
        yield make(
            "samples_left_out",
            f"Of {metrics.delivered} arrivals some have no usable delay: {listing(states(left_out))}.",
            "Keep the page visible, the screen on and the connection up.",
        )
    yield from _kernel_stamps(columns)
    yield from _recorded(record, figures.split)


def _recorded(record: TrialRecord, found: Split | None) -> Iterator[TrialWarning]:
    """What the server was asked to record and did not."""
    if record.instrument is None:
        return
    if found is None:
        yield _note(
            "not_recorded",
            f"The server recorded nothing, so that delays are not split. {record.instrument.absent}",
            "Connections of the worker's own, over HTTP/1.1 and without TLS, are recorded (SIAR_FANOUT=direct).",
        )
    elif found.unmatched or record.instrument.dropped:
        yield _note(
            "not_recorded",
            f"{count_of(found.unmatched, 'sample')} without the server's part of the delay; "
            f"{count_of(record.instrument.dropped, 'write')} found no room in the recording.",
            "The split stands for the others only. Through a proxy a connection cannot be told to be a client's.",
        )


def _kernel_stamps(columns: Columns) -> Iterator[TrialWarning]:
    """A platform that has none is no fault; one that has some and not all is."""
    samples = columns.samples()
    missing = int(np.isnan(columns.kernel_received_us[samples]).sum())
    if missing < len(samples) and missing > KERNEL_STAMPS_MISSING_MAX * len(samples):
        yield _note(
            "kernel_stamps_missing",
            f"{missing} of {len(samples)} samples have no kernel stamp of their own, because one read held "
            "several messages or the kernel gave none.",
            "The kernel's delays stand for the others only; a lower rate keeps messages apart.",
        )


def _result(metrics: TrialMetrics) -> Iterator[TrialWarning]:
    """Loss and lateness are what a transport did, so they void nothing; but delays are then those of the rest."""
    if metrics.lost or metrics.late:
        yield _note(
            "lost_or_late",
            f"{metrics.lost} of {metrics.expected} deliveries were lost and {metrics.late} late.",
            "Read the delays together with this: what was lost has none.",
        )


def _machine(record: TrialRecord) -> Iterator[TrialWarning]:
    """What else ran on the machine, and how finely CPU time was counted."""
    use, other_s = record.cpu, other_load_s(record)
    if use is None or use.wall_s <= 0:
        return
    if not use.total_is_ns:
        yield _note(
            "cpu_coarse",
            "CPU time was counted in ticks of 10 ms, which cannot resolve single notifications.",
            "Compare CPU on Linux, where each process has a nanosecond clock.",
        )
    if other_s is None or other_s <= OTHER_LOAD_CORES_NOTE * use.wall_s + CPU_TICK_S * use.cores:
        return
    make = _void if other_s > OTHER_LOAD_MACHINE_VOID * use.wall_s * use.cores else _note
    yield make(
        "machine_busy", _busy_text(use, other_s), "Close other programs, or use a machine that is idle."
    )


def _busy_text(use: CpuUse, other_s: float) -> str:
    return (
        f"Other programs used {number(100 * other_s / use.wall_s)} % of a core ({use.cores} cores) meanwhile."
    )


def _before_sent(columns: Columns) -> int:
    """Arrivals that the clock puts before their sending by more than its bound; warm-up ones have the same clock."""
    is_judged = columns.has_state(SampleState.OK, SampleState.WARMUP) & columns.has_sent
    delay_from_sent_ms = (columns.received_us - columns.sent_us) / 1000
    # What is not known is NaN here, and NaN is below nothing.
    return int((is_judged & (delay_from_sent_ms * 1000 < -columns.clock_bound_us)).sum())


def _void(code: str, text: str, advice: str) -> TrialWarning:
    return TrialWarning(code, Severity.VOID, text, advice)


def _note(code: str, text: str, advice: str) -> TrialWarning:
    return TrialWarning(code, Severity.NOTE, text, advice)
