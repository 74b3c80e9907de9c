"""Figures of a trial's timeline: CPU per second, connection set-up, breaks and recovery.

    process share   100 * seconds of the server's process tree / (wall * cores)    the edge-device study's eq. 4
    kernel share    100 * system, irq and softirq seconds of the machine / (wall * cores)    its eq. 5
    set-up          from the call to connect until the server admits the client; its parts are TCP and the first byte
    recovery        from the last arrival before a break to the first after it (measurement.md, section 6)

As in the study, which compared the two, the kernel share is that of the whole machine and the process share is not. Both are
shares of all cores. Kernel time is counted in ticks of 10 ms. Set-up and recovery are differences on one client's clock
and need no correction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.core.timeline import Opening
from app.core.trial import TrialRecord
from app.lab.analysis.columns import columns_of
from app.lab.analysis.metrics.telemetry import LevelRow, level_row
from app.lab.analysis.metrics.trial_metrics import supported_quantile
from app.lab.analysis.statistics.quantile import known, mean, median
from app.lab.analysis.summary import AnalysedTrial


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """The timeline figures of one arm at one count of clients."""

    cpu_process_percent: LevelRow
    """Process share per second, in percent of all cores."""
    cpu_kernel_percent: LevelRow
    connections: int
    """First connections that were established, invalid trials included."""
    connect_ms_p50: float | None
    """Time to connect, TCP alone."""
    first_byte_ms_p50: float | None
    setup_ms_p50: float | None
    setup_ms_p95: float | None
    breaks: int
    """Lost connections, invalid trials included, since a break voids its trial."""
    break_share: float | None
    """Lost connections over clients times trials."""
    recovery_ms_p50: float | None
    recovery_ms_max: float | None


@dataclass(frozen=True, slots=True)
class TimelineFigures:
    """The timeline figures of one trial; `None` for what was not recorded or did not happen."""

    connect_ms_p50: float | None
    first_byte_ms_p50: float | None
    setup_ms_p50: float | None
    recovery_ms_p50: float | None
    recovery_ms_max: float | None
    cpu_process_percent_mean: float | None
    cpu_kernel_percent_mean: float | None
    upload_bytes: int | None
    """Payload sent by all clients together."""


def timeline_figures(trial: AnalysedTrial) -> TimelineFigures | None:
    """Compute the figures of one trial; `None` for a trial from before timelines were recorded."""
    timeline = trial.record.timeline
    if timeline is None:
        return None
    first = [each for each in timeline.openings if each.place == 0 and each.ready_us is not None]
    recoveries_ms = recoveries_of(trial.record)
    return TimelineFigures(
        connect_ms_p50=median(known(_since_began_ms(each, each.connected_us) for each in first)),
        first_byte_ms_p50=median(known(_since_began_ms(each, each.first_byte_us) for each in first)),
        setup_ms_p50=median(known(_since_began_ms(each, each.ready_us) for each in first)),
        recovery_ms_p50=median(recoveries_ms),
        recovery_ms_max=max(recoveries_ms, default=None),
        cpu_process_percent_mean=mean(known(process_percent(trial))),
        cpu_kernel_percent_mean=mean(known(kernel_percent(trial))),
        upload_bytes=sum(each.payload_bytes for each in timeline.uploads) if timeline.uploads_known else None,
    )


def timeline_row(trials: Sequence[AnalysedTrial], all_trials: Sequence[AnalysedTrial]) -> TimelineRow:
    """Compute the row: CPU from the trials that count, connections from all trials, since breaks void a trial."""
    openings = [
        each for trial in all_trials if trial.record.timeline for each in trial.record.timeline.openings
    ]
    first = [each for each in openings if each.place == 0 and each.ready_us is not None]
    breaks = sum(trial.record.disconnects for trial in all_trials)
    seats = sum(trial.record.spec.clients for trial in all_trials)
    recoveries_ms = [value for trial in all_trials for value in recoveries_of(trial.record)]
    setups_ms = known(_since_began_ms(each, each.ready_us) for each in first)
    return TimelineRow(
        cpu_process_percent=level_row([process_percent(trial) for trial in trials]),
        cpu_kernel_percent=level_row([kernel_percent(trial) for trial in trials]),
        connections=len(first),
        connect_ms_p50=median(known(_since_began_ms(each, each.connected_us) for each in first)),
        first_byte_ms_p50=median(known(_since_began_ms(each, each.first_byte_us) for each in first)),
        setup_ms_p50=median(setups_ms),
        # Connections are as independent of each other as broadcasts are.
        setup_ms_p95=supported_quantile(setups_ms, 0.95, broadcasts=len(setups_ms)),
        breaks=breaks,
        break_share=breaks / seats if seats else None,
        recovery_ms_p50=median(recoveries_ms),
        recovery_ms_max=max(recoveries_ms, default=None),
    )


def recoveries_of(record: TrialRecord) -> list[float]:
    """Return the recovery of each break between two arrivals, in ms.

    It is the first arrival after the break minus the last before, by the client's clock.
    """
    openings = record.timeline.openings if record.timeline else ()
    breaks = [(each.client, each.lost_us) for each in openings if each.lost_us is not None]
    if not breaks:
        return []
    columns = columns_of(record.deliveries)
    # Deliveries that never arrived are NaN and sort to the end of each client's.
    order = np.lexsort((columns.received_client_us, columns.client))
    client, stamps_us = columns.client[order], columns.received_client_us[order]
    found = []
    for own, lost_us in breaks:
        own_us = stamps_us[np.searchsorted(client, own) : np.searchsorted(client, own + 1)]
        own_us = own_us[~np.isnan(own_us)]
        place = int(np.searchsorted(own_us, lost_us, side="right"))
        if 0 < place < len(own_us):
            found.append(float(own_us[place] - own_us[place - 1]) / 1000)
    return found


def process_percent(trial: AnalysedTrial) -> tuple[float | None, ...]:
    """Return the process share per second, in percent of all cores; empty where it was not recorded."""
    timeline, cores = trial.record.timeline, trial.cpu.cores
    return tuple(
        None if each.process_s is None or not cores else 100 * each.process_s / (each.wall_s * cores)
        for each in (timeline.cpu_seconds if timeline else ())
    )


def kernel_percent(trial: AnalysedTrial) -> tuple[float | None, ...]:
    """Return the kernel share of the whole machine per second, in percent of all cores; empty where not recorded."""
    timeline, cores = trial.record.timeline, trial.cpu.cores
    return tuple(
        100 * each.kernel_s / (each.wall_s * cores) if cores else None
        for each in (timeline.cpu_seconds if timeline else ())
    )


def _since_began_ms(opening: Opening, moment_us: float | None) -> float | None:
    return None if moment_us is None else (moment_us - opening.began_us) / 1000
