"""The service's counters in Prometheus' format, read at the request, summed over all processes of the server.

A labelled counter has a sample for each label from the start, because `rate()` misses an increase from nothing to 1. It is
therefore counted in a dictionary with every key at zero (`Fanout`, `Admission`, `HistoryCache`); other keys raise `KeyError`.
"""

from __future__ import annotations

import resource
import threading
import time
from dataclasses import dataclass

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app.core.totals import Numbers, total
from app.server.broker.history_cache import OUTCOMES, HistoryCache
from app.server.services import Services
from app.server.wsgi import shared_counters

PUBLISH_INTERVAL_S = 1.0
"""Interval at which each process publishes its counters to the others."""


@dataclass(frozen=True, slots=True)
class _Family:
    name: str
    help: str
    labels: tuple[str, ...] = ()
    is_counter: bool = False

    def with_samples(self, rows: list[tuple[tuple[str, ...], float]]) -> Metric:
        """Return the family with these samples."""
        kind = CounterMetricFamily if self.is_counter else GaugeMetricFamily
        family = kind(self.name, self.help, labels=self.labels)
        for labels, value in rows:
            family.add_metric(labels, value)
        return family


FAMILIES = (
    _Family("siar_connections", "Open subscriptions", ("transport",)),
    _Family("siar_connection_paths", "Open subscriptions by how they are written to", ("transport", "path")),
    _Family("siar_admitted_connections", "Connections that hold a place"),
    _Family("siar_refused_connections", "Refused", ("reason",), is_counter=True),
    _Family("siar_file_descriptors_max", "Open files that a process may have"),
    _Family("siar_deliveries", "Notifications handed to connections", ("transport",), is_counter=True),
    _Family("siar_closed_connections", "Ended", ("transport", "reason"), is_counter=True),
    _Family("siar_notifications", "Notifications published in this epoch", is_counter=True),
    _Family("siar_http_requests", "HTTP requests, transports included", is_counter=True),
    _Family("siar_history_answers", "History answered through the cache", ("outcome",), is_counter=True),
    _Family("siar_history_answers_seconds", "Time until they were there", ("outcome",), is_counter=True),
    _Family("siar_uptime_seconds", "Time since start"),
    _Family("siar_processes", "Server processes that are counted here"),
)


def process_counters(parts: Services) -> Numbers:
    """Return the counters of this process."""
    fanout = parts.fanout
    return {
        "siar_connections": [((name,), count) for name, count in fanout.counts().items()],
        "siar_connection_paths": sorted(fanout.paths().items()),
        "siar_admitted_connections": [((), parts.admission.count)],
        "siar_refused_connections": [((name,), n) for name, n in sorted(parts.admission.refused.items())],
        "siar_file_descriptors_max": [((), resource.getrlimit(resource.RLIMIT_NOFILE)[0])],
        "siar_deliveries": [((name,), count) for name, count in sorted(fanout.sent.items())],
        "siar_closed_connections": sorted(fanout.closed.items()),
        "siar_notifications": [((), parts.broker.position().offset)],
        "siar_http_requests": [((), parts.requests.answered())],
        **_cache_counters(parts.history_cache),
        "siar_uptime_seconds": [((), (parts.clock.now_us() - parts.started_us) / 1_000_000)],
        "siar_processes": [((), 1)],
    }


def _cache_counters(cache: HistoryCache | None) -> Numbers:
    none = dict.fromkeys(OUTCOMES, 0)
    answers, took_us = (none, none) if cache is None else (cache.answers, cache.took_us)
    return {
        "siar_history_answers": [((name,), count) for name, count in sorted(answers.items())],
        "siar_history_answers_seconds": [((name,), us / 1e6) for name, us in sorted(took_us.items())],
    }


def server_counters(parts: Services) -> Numbers:
    """Return the counters of all processes of the server; the other processes' are up to a second old."""
    own = process_counters(parts)
    shared = shared_counters.current()
    if shared is None or shared.mine is None:
        return total([own])
    shared.write(shared.mine, dict(own))
    return total(shared.read_all())


def publish_counters(parts: Services) -> None:
    """Start publishing this process's counters to the others; does nothing if there is only one process."""
    shared = shared_counters.current()
    if shared is None or shared.mine is None:
        return
    slot = shared.mine

    def run() -> None:
        while True:
            shared.write(slot, dict(process_counters(parts)))
            time.sleep(PUBLISH_INTERVAL_S)

    threading.Thread(target=run, name="siar-counters", daemon=True).start()


class ServerCounters(Collector):
    """Collects the server's counters for Prometheus' registry."""

    def __init__(self, parts: Services) -> None:
        self._parts = parts

    def collect(self) -> list[Metric]:
        """Return every family, including those without samples."""
        numbers = server_counters(self._parts)
        return [family.with_samples(numbers.get(family.name, [])) for family in FAMILIES]
