"""A report's tables of the run's result: summary, parts of the delay, phones, trials, and conditions."""

from __future__ import annotations

from app.core.lifecycle import LifecycleReport
from app.core.messages import Message, Text
from app.core.trial import TrialRecord
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.summary import AnalysedTrial
from app.lab.analysis.words import arm_title, pseudonym
from app.lab.report.document import Table, headings_of


def summary_table(analysis: Analysis) -> Table:
    """Return the table of delays, losses and CPU use: a row per arm and count of clients, pooled over valid blocks."""
    headings = headings_of(
        *(
            "transport",
            "clients",
            "n",
            "mean_ms",
            "median_ms",
            "p95_ms",
            "p99_ms",
            "max_ms",
            "kernel_median_ms",
        ),
        *(
            "jitter_ms",
            "lost",
            "late",
            "duplicates",
            "cpu_us_per_delivery",
            "cpu_points",
            "cpu_percent_points",
        ),
    )
    rows = [
        (
            *(arm_title(row.arm), row.clients, row.samples),
            *(row.delay_ms_mean, row.delay_ms_p50, row.delay_ms_p95),
            *(row.delay_ms_p99, row.delay_ms_max, row.kernel_delay_ms_p50),
            *(row.jitter_ms, row.lost, row.late, row.duplicates),
            *(row.cpu_per_delivery_us, row.delta_points, row.cpu_percent_points),
        )
        for row in analysis.summary
    ]
    return Table(headings, rows)


def split_table(analysis: Analysis) -> Table | None:
    """Return the parts of the delay, one row per arm and count of clients; `None` when they were not recorded."""
    rows = [
        (
            *(arm_title(row.arm), row.clients),
            *(parts.source_ms_p50, parts.server_ms_p50, parts.network_ms_p50),
            *(parts.client_ms_p50, parts.spread_ms_p50, parts.rtt_ms_p50),
            *(parts.wire_bytes_per_notification, parts.segments_per_notification),
            parts.retransmissions,
        )
        for row in analysis.summary
        if (parts := row.split) is not None
    ]
    headings = headings_of(
        *(
            "transport",
            "clients",
            "source_ms",
            "server_ms",
            "network_ms",
            "client_ms",
            "spread_ms",
            "round_trip_ms",
        ),
        *("ip_bytes_per_notification", "segments_per_notification", "retransmissions"),
    )
    return Table(headings, rows) if rows else None


def phones_table(analysis: Analysis) -> Table | None:
    """Return a table with a row per phone that took part; `None` without phones.

    It has what the phone reported of itself, the number of trials in which it took part, and the number of those that
    it made invalid.
    """
    rows = []
    for phone in analysis.phones:
        client = int(str(phone.get("client", 0)))
        own = [each for each in analysis.trials if client in each.record.participants]
        void = [each for each in own if _is_void_by(client, each.record)]
        rows.append(
            (
                *(pseudonym(client), _said(phone.get("model")), _said(phone.get("browser"))),
                *(_said(phone.get("secure_context")), _said(phone.get("wake_lock"))),
                *(_figure(phone.get("timer_step_us")), _figure(phone.get("rtt_ms"))),
                *(_figure(phone.get("radio_jitter_ms")), len(own), len(void)),
            )
        )
    headings = headings_of(
        *("phone", "model", "browser", "secure_page", "screen_kept_on", "clock_step_us", "round_trip_ms"),
        *("radio_jitter_ms", "trials", "void_by_it"),
    )
    return Table(headings, rows, frozenset({0, 1, 2, 3, 4})) if rows else None


def _is_void_by(client: int, record: TrialRecord) -> bool:
    """Return True if this phone made a trial invalid; a phone without a report on a trial that began did so."""
    report = next((each for each in record.lifecycle_reports if each.client == client), None)
    return record.published > 0 if report is None else _is_at_fault(report)


def _is_at_fault(report: LifecycleReport) -> bool:
    return bool(report.asleep_ms > 0 or report.reload_count or report.clock_steps or report.disconnects)


def _said(value: object) -> Text:
    if isinstance(value, bool):
        return Message("cell.yes" if value else "cell.no")
    return None if value is None else str(value)


def _figure(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def trial_table(analysis: Analysis) -> Table:
    """Return a table with a row per trial, invalid ones included, in the order in which they ran.

    It has delay, jitter, losses, clock bound, lag of the source, CPU per delivery, codes of warnings and, in a run of
    phones, the pseudonyms of those that took part.
    """
    headings = headings_of(
        *("trial", "block", "clients", "arm", "median_ms", "jitter_ms", "lost", "late", "duplicates"),
        *(
            "out_of_order",
            "clock_bound_ms",
            "source_lag_p99_ms",
            "cpu_us_per_delivery",
            "valid",
            "warnings",
        ),
    )
    rows = [_trial(each) for each in analysis.trials]
    words = frozenset({3, 13, 14})
    if not analysis.phones:
        return Table(headings, rows, words)
    took_part = [" ".join(map(pseudonym, each.record.participants)) for each in analysis.trials]
    with_phones = [(*row, names) for row, names in zip(rows, took_part, strict=True)]
    return Table((*headings, *headings_of("took_part")), with_phones, words | {15})


def _trial(trial: AnalysedTrial) -> tuple[Text, ...]:
    spec, metrics = trial.record.spec, trial.metrics
    return (
        *(spec.index, spec.block, spec.clients, arm_title(spec.arm)),
        *(metrics.delay_ms.p50, metrics.jitter_ms),
        *(metrics.lost, metrics.late, metrics.duplicates, metrics.out_of_order),
        *(
            metrics.clock_bound_ms,
            metrics.source_lag_ms_p99,
            trial.cpu.per_delivery_us,
        ),
        Message("cell.yes" if trial.valid else "cell.no"),
        ", ".join(warning.code for warning in trial.warnings) or None,
    )


def conditions_table(conditions: dict[str, object]) -> Table:
    """Return a table of a run's conditions as they were recorded, nested ones by dotted names."""
    return Table(headings_of("condition", "value"), _flat("", conditions), frozenset({0, 1}))


def _flat(prefix: str, values: dict[str, object]) -> list[tuple[str, str | None]]:
    rows: list[tuple[str, str | None]] = []
    for name, value in values.items():
        if isinstance(value, dict):
            rows += _flat(f"{prefix}{name}.", value)
        else:
            rows.append((f"{prefix}{name}", None if value is None else str(value)))
    return rows
