"""Counters of several processes as those of one server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

Numbers = dict[str, list[tuple[tuple[str, ...], float]]]
"""By metric: label values and the number."""

SAME_FOR_ALL = frozenset({"siar_notifications", "siar_uptime_seconds", "siar_file_descriptors_max"})
"""What every process says of the whole, or of the same thing: the highest holds, not the sum."""

GAUGES = frozenset(
    {"siar_connections", "siar_connection_paths", "siar_admitted_connections", "siar_processes"}
)
"""What a process takes with it when it ends."""


def total(processes: Iterable[Mapping[str, Iterable[Iterable[object]]]]) -> Numbers:
    """All processes together. Takes numbers as JSON gives them back, too."""
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for numbers in processes:
        for name, rows in numbers.items():
            kept = found.setdefault(name, {})
            for labels, value in rows:
                key: tuple[str, ...] = tuple(labels)  # type: ignore[arg-type]
                both = (kept.get(key, 0.0), float(value))  # type: ignore[arg-type]
                kept[key] = max(both) if name in SAME_FOR_ALL else sum(both)
    return {name: sorted(rows.items()) for name, rows in found.items()}


def of_the_ended(numbers: Numbers) -> Numbers:
    """What is left of processes that have ended: what they had counted."""
    return {name: rows for name, rows in numbers.items() if name not in GAUGES | SAME_FOR_ALL}
