"""The CSV files of a run: `deliveries.csv`, `trials.csv`, and `clients.csv` (a row per client of a trial).

Columns and their meaning are in the tables below and in `CLIENT_COLUMNS`. Names carry the unit; an empty cell means null. Times
in `_us` are microseconds in the server's time base, except where the name says `client`: those are by the client's own clock.
Idle windows are rows of `trials.csv` with `idle` = 1.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TextIO

from app.core.plan.scenario import Plan
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.descriptive.arm_rows import from_sent_ms_p50
from app.lab.analysis.descriptive.timeline import timeline_figures
from app.lab.analysis.metrics.arrivals import arrival_figures
from app.lab.analysis.metrics.split import Split
from app.lab.analysis.statistics.quantile import median
from app.lab.analysis.summary import AnalysedIdle, AnalysedTrial
from app.lab.analysis.words import pseudonym
from app.lab.report.data.cells import float_text, text_cell
from app.lab.report.data.client_rows import CLIENT_COLUMNS, client_rows
from app.lab.report.data.delivery_rows import delivery_rows
from app.lab.report.data.metric_cells import Cell, arrival_cells, metric_cells

DELIVERY_COLUMNS: Mapping[str, str] = {
    "run": "id of the run",
    "trial": "place of the trial in the run, from 0",
    "block": "number of the block among those with as many clients",
    "arm": "name of the arm",
    "transport": "sse or socketio",
    "clients": "count of clients in the trial",
    "client": "which of them, from 0; of a phone its seat in the run, so that 0 is P1",
    "seq": "number of the notification in the trial, from 0",
    "warmup": "1 for a notification that is left out of every figure",
    "offset": "position in the broker's order",
    "due_us": "when it should have been sent",
    "sent_us": "when it was handed to the broker",
    "received_client_us": "stamp of the client right after its read, on the client's own clock",
    "clock_offset_us": "what makes a client's stamp the server's time",
    "clock_bound_us": "hard bound of the error of that",
    "kernel_received_us": "the kernel's receive stamp in server time, where one read held one message",
    "delay_ms": "received - due",
    "delay_from_sent_ms": "received - sent",
    "state": "ok, or why the delay is not used",
    "outcome": "on_time, late, replayed, lost or duplicate",
    "visible": "whether the page was visible",
    "sample": "1 when the delay is one of the trial's samples",
    "accepted_us": "when the server handed the kernel the last of it, where it recorded that",
    "place": "which of the clients was written to first, from 0",
    "lifecycle": "of a phone's page: visible, hidden, frozen, or resumed just before",
}

TRIAL_COLUMNS: Mapping[str, str] = {
    "run": "id of the run",
    "trial": "place in the run, from 0",
    "block": "number of the block among those with as many clients",
    "arm": "name of the arm",
    "transport": "sse or socketio",
    "clients": "count of clients",
    "idle": "1 for an idle window: as many clients connected, no notification",
    "started_us": "start of the CPU window",
    "ended_us": "end of the CPU window",
    "notifications": "measured notifications",
    "expected": "notifications times clients",
    "delivered": "how many of those arrived",
    "lost": "how many did not",
    "late": "arrived after the drain limit",
    "replayed": "came from history after a reconnect",
    "duplicates": "arrivals beyond the first",
    "out_of_order": "arrivals behind a later notification (RFC 4737)",
    "samples": "arrivals whose delay is used",
    "delay_ms_mean": "mean of the clients' means",
    "delay_ms_p50": "median of the clients' medians; likewise below",
    "delay_ms_p95": "empty below 100 notifications",
    "delay_ms_p99": "empty below 500 notifications",
    "delay_ms_max": "largest single delay",
    "delay_from_sent_ms_p50": "received - sent, likewise",
    "display_ms_p50": "from receipt to paint on a visible page, by the phone's clock; empty for built-in clients",
    "missing_share": "1 - samples / expected",
    "interval_ms_p50": "between two arrivals at one client, by its own clock; likewise below",
    "interval_ms_p95": "period of the plan included",
    "interval_ms_max": "the longest",
    "gaps_over_2s": "intervals less the plan's period over 2 s",
    "gaps_over_5s": "likewise over 5 s",
    "spikes_over_500ms": "samples with a delay above 500 ms",
    "kernel_delay_ms_p50": "the same median by the kernel's stamps",
    "client_share_ms_p50": "client's stamp minus kernel's stamp",
    "jitter_ms": "median over clients of the final J (RFC 3550)",
    "clock_bound_ms": "widest error bound of a clock over the samples",
    "source_lag_ms_p99": "how late the source was itself",
    "client_loop_lag_ms_p99": "how late the clients' own loop was",
    "connect_ms_p50": "connect() until TCP stands, median of the clients; empty where clients did not say",
    "first_byte_ms_p50": "connect() until the answer's first byte",
    "setup_ms_p50": "connect() until the server let the client in",
    "recovery_ms_p50": "first arrival behind a broken connection - last before; empty without one",
    "recovery_ms_max": "the longest of them",
    "cpu_process_percent_mean": "server's process tree in percent of all cores, mean of the seconds",
    "cpu_kernel_percent_mean": "the whole machine in the kernel, likewise",
    "upload_bytes": "payload that all clients sent",
    "source_ms_p50": "sent - due, where the server recorded; likewise below",
    "server_ms_p50": "handed to the kernel - sent",
    "network_ms_p50": "kernel's receive stamp - handed to the kernel",
    "client_ms_p50": "read - kernel's receive stamp",
    "spread_ms_p50": "from the first client that is written to, to the last",
    "wire_bytes_per_notification": "IP packets of both directions, per connection",
    "segments_per_notification": "TCP segments sent by the server, per connection",
    "segments_in_per_notification": "TCP segments received by the server, per connection",
    "retransmissions": "TCP segments sent again, all connections",
    "rtt_ms_p50": "kernel's round trip at the end, median of the connections",
    "cpu_user_s": "server's process tree, 10 ms ticks",
    "cpu_system_s": "server's process tree, 10 ms ticks",
    "cpu_total_s": "server's process tree, nanosecond clocks where there are",
    "cpu_core_percent": "percent of one core, idle share included",
    "cpu_per_delivery_us": "over the idle rate, per delivery",
    "cpu_delta_points": "over the idle rate, percent of the whole machine",
    "cpu_percent_points": "by the published study's meter: the machine's cpu_percent over the trial minus over the idle window",
    "voluntary_switches_per_delivery": "context switches of the server",
    "involuntary_switches_per_delivery": "context switches of the server",
    "rss_bytes": "resident memory of the server's process tree at the end",
    "valid": "1 when no warning voids it",
    "in_comparison": "1 when all trials of its block are there and valid, and its idle window",
    "warnings": "codes, separated by spaces",
    "participants": "phones that took part, separated by spaces",
}


def write_deliveries(analysis: Analysis, file: TextIO) -> None:
    """Write every delivery of every trial, warm-up and invalid trials included."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(DELIVERY_COLUMNS)
    writer.writerows(delivery_rows(analysis))


def write_trials(analysis: Analysis, file: TextIO) -> None:
    """Write every trial and idle window, in the order in which they ran."""
    rows: list[AnalysedTrial | AnalysedIdle] = [*analysis.trials, *analysis.idle]
    writer = csv.DictWriter(file, tuple(TRIAL_COLUMNS), restval="", lineterminator="\n")
    writer.writeheader()
    for each in sorted(rows, key=lambda row: row.record.spec.index):
        values = _common(analysis, each)
        if isinstance(each, AnalysedTrial):
            values |= _figures(each) | _regularity(each, analysis.run.plan)
        writer.writerow({name: _cell(value) for name, value in values.items()})


def write_clients(analysis: Analysis, file: TextIO) -> None:
    """Write a row for every client of every trial."""
    writer = csv.DictWriter(file, tuple(CLIENT_COLUMNS), lineterminator="\n")
    writer.writeheader()
    for row in client_rows(analysis):
        writer.writerow({name: _cell(value) for name, value in row.items()})


DICTIONARIES: Mapping[str, Mapping[str, str]] = {
    "deliveries.csv": DELIVERY_COLUMNS,
    "trials.csv": TRIAL_COLUMNS,
    "clients.csv": CLIENT_COLUMNS,
}
"""Meaning of each column by name, for each file."""

WRITERS: Mapping[str, Callable[[Analysis, TextIO], None]] = {
    "deliveries.csv": write_deliveries,
    "trials.csv": write_trials,
    "clients.csv": write_clients,
}


def _common(analysis: Analysis, row: AnalysedTrial | AnalysedIdle) -> dict[str, Cell]:
    record, use = row.record, row.record.cpu
    values: dict[str, Cell] = {
        "run": analysis.run.id,
        "trial": record.spec.index,
        "block": record.spec.block,
        "arm": record.spec.arm.name,
        "transport": record.spec.arm.transport,
        "clients": record.spec.clients,
        "idle": record.spec.idle,
        "started_us": record.started_us,
        "ended_us": record.ended_us,
        "client_loop_lag_ms_p99": record.client_loop_lag_ms_p99,
        "valid": row.valid,
        "warnings": " ".join(warning.code for warning in row.warnings),
        "participants": " ".join(pseudonym(client) for client in record.participants),
    }
    if use is not None:
        values |= {"cpu_user_s": use.user_s, "cpu_system_s": use.system_s, "cpu_total_s": use.total_s}
        values |= {"cpu_core_percent": 100 * use.total_s / use.wall_s if use.wall_s > 0 else None}
        values |= {"rss_bytes": use.rss_bytes}
    return values


def _figures(trial: AnalysedTrial) -> dict[str, Cell]:
    metrics, cpu = trial.metrics, trial.cpu
    return {
        "notifications": metrics.notifications,
        **metric_cells(metrics),
        "source_lag_ms_p99": metrics.source_lag_ms_p99,
        "cpu_per_delivery_us": cpu.per_delivery_us,
        "cpu_delta_points": cpu.delta_points,
        "cpu_percent_points": cpu.cpu_percent_points,
        "voluntary_switches_per_delivery": cpu.voluntary_switches_per_delivery,
        "involuntary_switches_per_delivery": cpu.involuntary_switches_per_delivery,
        "in_comparison": trial.in_comparison,
        **(_split(trial.split) if trial.split is not None else {}),
        **(asdict(timeline) if (timeline := timeline_figures(trial)) is not None else {}),
    }


def _regularity(trial: AnalysedTrial, plan: Plan) -> dict[str, Cell]:
    return {
        "delay_from_sent_ms_p50": from_sent_ms_p50(trial),
        "display_ms_p50": median(trial.record.display_ms),
        **arrival_cells(arrival_figures(trial.record, plan)),
    }


def _split(split: Split) -> dict[str, Cell]:
    return {
        "source_ms_p50": split.source_ms.p50,
        "server_ms_p50": split.server_ms.p50,
        "network_ms_p50": split.network_ms.p50,
        "client_ms_p50": split.client_ms.p50,
        "spread_ms_p50": split.spread_ms_p50,
        "wire_bytes_per_notification": split.wire.bytes_per_notification,
        "segments_per_notification": split.wire.segments_per_notification,
        "segments_in_per_notification": split.wire.segments_in_per_notification,
        "retransmissions": split.wire.retransmissions,
        "rtt_ms_p50": split.wire.rtt_ms_p50,
    }


def _cell(value: Cell) -> str | int:
    """Return a value for the CSV writer: booleans as 0 and 1, floats by `float_text`, text by `text_cell`, `None` as empty."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        return text_cell(value)
    return float_text(value) if isinstance(value, float) else value
