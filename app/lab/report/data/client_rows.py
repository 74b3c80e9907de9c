"""Rows of `clients.csv`: one per client of each trial, in the order in which the trials ran."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from app.core.plan.scenario import arm_plan
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.metrics.each_client import ClientFigures, each_client
from app.lab.report.data.metric_cells import Cell, arrival_cells, metric_cells

CLIENT_COLUMNS: Mapping[str, str] = {
    "run": "id of the run",
    "trial": "place of the trial in the run, from 0",
    "block": "number of the block among those with as many clients",
    "arm": "name of the arm",
    "transport": "sse or socketio",
    "clients": "count of clients in the trial",
    "client": "which of them, from 0; of a phone its seat in the run, so that 0 is P1",
    "expected": "measured notifications",
    "delivered": "how many of those arrived",
    "lost": "how many did not",
    "late": "arrived after the drain limit",
    "replayed": "came from history after a reconnect",
    "duplicates": "arrivals beyond the first",
    "out_of_order": "arrivals behind a later notification (RFC 4737)",
    "samples": "arrivals whose delay is used",
    "missing_share": "1 - samples / expected",
    "delay_ms_mean": "mean of received - due",
    "delay_ms_p50": "its median; likewise below",
    "delay_ms_p95": "empty below 100 notifications",
    "delay_ms_p99": "empty below 500 notifications",
    "delay_ms_max": "largest single delay",
    "delay_from_sent_ms_p50": "median of received - sent",
    "kernel_delay_ms_p50": "median by the kernel's stamps",
    "client_share_ms_p50": "client's stamp minus kernel's stamp",
    "jitter_ms": "J at the trial's end (RFC 3550)",
    "clock_bound_ms": "widest error bound of its clock over the samples",
    "interval_ms_p50": "between two arrivals, by the client's own clock; likewise below",
    "interval_ms_p95": "period of the plan included",
    "interval_ms_max": "the longest",
    "gaps_over_2s": "intervals less the plan's period over 2 s",
    "gaps_over_5s": "likewise over 5 s",
    "spikes_over_500ms": "samples with a delay above 500 ms",
}


def client_rows(analysis: Analysis) -> Iterator[dict[str, Cell]]:
    """Yield rows as values by the names of `CLIENT_COLUMNS`. Invalid trials are included, idle windows are not."""
    for trial in analysis.trials:
        spec = trial.record.spec
        head: dict[str, Cell] = {
            "run": analysis.run.id,
            "trial": spec.index,
            "block": spec.block,
            "arm": spec.arm.name,
            "transport": spec.arm.transport,
            "clients": spec.clients,
        }
        for each in each_client(trial.record, arm_plan(analysis.run.plan, spec.arm)):
            yield {**head, **_figures(each)}


def _figures(each: ClientFigures) -> dict[str, Cell]:
    return {
        "client": each.client,
        "delay_from_sent_ms_p50": each.delay_from_sent_ms_p50,
        **metric_cells(each.metrics),
        **arrival_cells(each.arrivals),
    }
