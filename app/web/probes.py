"""What monitors and clocks ask: health, readiness, version, metrics, server time."""

from __future__ import annotations

import resource

import flask
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from app.catalogues import refusal
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app import clock
from app.core.broker_url import parse_broker_url
from app.core.version import VERSION
from app.services import Services
from app.serving import mode
from app.web.auth import require_operator_or_this_machine
from app.web.errors import problem
from app.web.here import services

blueprint = flask.Blueprint("probes", __name__)

NO_STORE = {"Cache-Control": "no-store"}


@blueprint.get("/healthz")
def healthz() -> flask.Response:
    """The process answers."""
    return flask.Response("ok\n", content_type="text/plain", headers=NO_STORE)


@blueprint.get("/readyz")
def readyz() -> flask.Response:
    """The service takes clients; not any more while it drains."""
    if services().draining:
        return problem(503, refusal("shutting_down"))
    return flask.Response("ready\n", content_type="text/plain", headers=NO_STORE)


@blueprint.get("/version")
def version() -> flask.Response:
    """What runs here, and where its clock channel is."""
    settings = services().settings
    answer = flask.jsonify(
        name="siar",
        version=VERSION,
        async_mode=mode.current(),
        fanout=settings.fanout,
        broker=parse_broker_url(settings.broker).kind,
        compression=settings.compression,
        run=services().run,
        timebase=clock.timebase(),
        clock_port=settings.clock_port or None,
    )
    answer.headers.update(NO_STORE)
    return answer


@blueprint.get("/api/clock")
def read_clock() -> flask.Response:
    """Two server stamps with nothing else between them, for clients that cannot reach the clock channel."""
    received_us = clock.now_us()
    timebase = clock.timebase()
    text = f'{{"received_us":{received_us},"sent_us":{clock.now_us()},"timebase":"{timebase}"}}'
    return flask.Response(text, content_type="application/json", headers=NO_STORE)


@blueprint.get("/metrics")
def metrics() -> flask.Response:
    """Prometheus text: read at the moment of the request, nothing is kept for it."""
    require_operator_or_this_machine()
    registry = CollectorRegistry()
    registry.register(_Numbers(services()))
    return flask.Response(generate_latest(registry), content_type=CONTENT_TYPE_LATEST, headers=NO_STORE)


class _Numbers(Collector):
    """The service's counters in Prometheus' form."""

    def __init__(self, parts: Services) -> None:
        self._parts = parts

    def collect(self) -> list[Metric]:
        parts = self._parts
        connections = GaugeMetricFamily("siar_connections", "Open subscriptions", labels=["transport"])
        for transport, count in parts.fanout.counts().items():
            connections.add_metric([transport], count)
        paths = GaugeMetricFamily(
            "siar_connection_paths",
            "Open subscriptions by how they are written to",
            labels=["transport", "path"],
        )
        for (transport, path), count in sorted(parts.fanout.paths().items()):
            paths.add_metric([transport, path], count)
        places = GaugeMetricFamily("siar_admitted_connections", "Connections that hold a place")
        places.add_metric([], parts.admission.count)
        refused = CounterMetricFamily("siar_refused_connections", "Refused", labels=["reason"])
        for reason, count in sorted(parts.admission.refused.items()):
            refused.add_metric([reason], count)
        descriptors = GaugeMetricFamily("siar_file_descriptors_max", "Open files that this process may have")
        descriptors.add_metric([], resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        sent = CounterMetricFamily(
            "siar_deliveries", "Notifications handed to connections", labels=["transport"]
        )
        for transport, count in sorted(parts.fanout.sent.items()):
            sent.add_metric([transport], count)
        closed = CounterMetricFamily("siar_closed_connections", "Ended", labels=["transport", "reason"])
        for (transport, reason), count in sorted(parts.fanout.closed.items()):
            closed.add_metric([transport, reason], count)
        published = CounterMetricFamily("siar_notifications", "Notifications published in this epoch")
        published.add_metric([], parts.broker.position().offset)
        requests = CounterMetricFamily("siar_http_requests", "HTTP requests, transports included")
        requests.add_metric([], parts.requests.answered())
        uptime = GaugeMetricFamily("siar_uptime_seconds", "Time since start")
        uptime.add_metric([], (clock.now_us() - parts.started_us) / 1_000_000)
        return [
            connections, paths, places, refused, descriptors, sent, closed, published, requests, uptime,
        ]  # fmt: skip
