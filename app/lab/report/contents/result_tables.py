"""Tables of a run's result: summary, parts of the delay, phones, trials, and conditions."""

from __future__ import annotations

from app.core.lifecycle import LifecycleReport
from app.core.messages import Message, Text
from app.core.trial import TrialRecord
from app.lab.analysis.analyse import Analysis
from app.lab.analysis.summary import AnalysedTrial
from app.lab.analysis.words import arm_title, number, pseudonym
from app.lab.report.document import Table, headings_of


def summary_table(analysis: Analysis) -> Table:
    """Return one row per arm and count of clients, pooled over valid blocks."""
    headings = headings_of(
        *("arm", "clients", "n", "mean_ms", "median_ms", "p95_ms", "p99_ms", "max_ms", "kernel_median_ms"),
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
            *(arm_title(row.arm), str(row.clients), str(row.samples)),
            *(number(row.delay_ms_mean), number(row.delay_ms_p50), number(row.delay_ms_p95)),
            *(number(row.delay_ms_p99), number(row.delay_ms_max), number(row.kernel_delay_ms_p50)),
            *(number(row.jitter_ms), str(row.lost), str(row.late), str(row.duplicates)),
            *(number(row.cpu_per_delivery_us), number(row.delta_points), number(row.cpu_percent_points)),
        )
        for row in analysis.summary
    ]
    return Table(headings, rows)


def split_table(analysis: Analysis) -> Table | None:
    """Return the parts of the delay, one row per arm and count of clients; `None` when they were not recorded."""
    rows = [
        (
            *(arm_title(row.arm), str(row.clients)),
            *(number(parts.source_ms_p50), number(parts.server_ms_p50), number(parts.network_ms_p50)),
            *(number(parts.client_ms_p50), number(parts.spread_ms_p50), number(parts.rtt_ms_p50)),
            *(number(parts.wire_bytes_per_notification), number(parts.segments_per_notification)),
            str(parts.retransmissions),
        )
        for row in analysis.summary
        if (parts := row.split) is not None
    ]
    headings = headings_of(
        *(
            "arm",
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
    """Return the phones that took part, their properties, and their counts of trials; `None` without phones."""
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
                *(_figure(phone.get("radio_jitter_ms")), str(len(own)), str(len(void))),
            )
        )
    headings = headings_of(
        *("phone", "model", "browser", "secure_page", "screen_kept_on", "clock_step_us", "round_trip_ms"),
        *("radio_jitter_ms", "trials", "void_by_it"),
    )
    return Table(headings, rows, frozenset({0, 1, 2, 3, 4})) if rows else None


def _is_void_by(client: int, record: TrialRecord) -> bool:
    """Tell whether this participant made a trial invalid; one without a report on a trial that began did."""
    report = next((each for each in record.lifecycle_reports if each.client == client), None)
    return record.published > 0 if report is None else _is_at_fault(report)


def _is_at_fault(report: LifecycleReport) -> bool:
    return bool(report.asleep_ms > 0 or report.reload_count or report.clock_steps or report.disconnects)


def _said(value: object) -> Text:
    if isinstance(value, bool):
        return Message("cell.yes" if value else "cell.no")
    return "-" if value is None else str(value)


def _figure(value: object) -> str:
    return number(float(value)) if isinstance(value, int | float) else "-"


def trial_table(analysis: Analysis) -> Table:
    """Return every trial, invalid ones included."""
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
        *(str(spec.index), str(spec.block), str(spec.clients), arm_title(spec.arm)),
        *(number(metrics.delay_ms.p50), number(metrics.jitter_ms)),
        *(str(metrics.lost), str(metrics.late), str(metrics.duplicates), str(metrics.out_of_order)),
        *(
            number(metrics.clock_bound_ms),
            number(metrics.source_lag_ms_p99),
            number(trial.cpu.per_delivery_us),
        ),
        Message("cell.yes" if trial.valid else "cell.no"),
        ", ".join(warning.code for warning in trial.warnings) or "-",
    )


def conditions_table(conditions: dict[str, object]) -> Table:
    """Return conditions as they were recorded, nested ones by dotted names."""
    return Table(headings_of("condition", "value"), _flat("", conditions), frozenset({0, 1}), verbatim=True)


def _flat(prefix: str, values: dict[str, object]) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for name, value in values.items():
        if isinstance(value, dict):
            rows += _flat(f"{prefix}{name}.", value)
        else:
            rows.append((f"{prefix}{name}", "-" if value is None else str(value)))
    return rows
