"""Metrics of several processes, combined to those of one server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

Numbers = dict[str, list[tuple[tuple[str, ...], float]]]
"""Pairs of label values and number, by metric."""

SAME_FOR_ALL = frozenset({"siar_notifications", "siar_uptime_seconds", "siar_file_descriptors_max"})
"""Metrics that every process reports for the whole server; the maximum counts, not the sum."""

GAUGES = frozenset(
    {"siar_connections", "siar_connection_paths", "siar_admitted_connections", "siar_processes"}
)
"""Metrics of a process's present state, which end with the process."""


def total(processes: Iterable[Mapping[str, Iterable[Iterable[object]]]]) -> Numbers:
    """Combine the metrics of all processes. The input may come from JSON, with lists in place of tuples."""
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for numbers in processes:
        for name, rows in numbers.items():
            kept = found.setdefault(name, {})
            for labels, value in rows:
                key: tuple[str, ...] = tuple(labels)  # type: ignore[arg-type]
                both = (kept.get(key, 0.0), float(value))  # type: ignore[arg-type]
                kept[key] = max(both) if name in SAME_FOR_ALL else sum(both)
    return {name: sorted(rows.items()) for name, rows in found.items()}


def counters_only(numbers: Numbers) -> Numbers:
    """Keep the counters, which remain valid after their process has ended."""
    return {name: rows for name, rows in numbers.items() if name not in GAUGES | SAME_FOR_ALL}
