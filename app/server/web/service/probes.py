"""Endpoints for monitors and clocks: health, readiness, version, metrics, server time."""

from __future__ import annotations

import flask
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from app import clock
from app.core.broker_url import parse_broker_url
from app.core.version import VERSION
from app.i18n import refusal
from app.server.web.auth import require_operator_or_this_machine
from app.server.web.current import services
from app.server.web.errors import problem
from app.server.web.service.metrics import ServerCounters
from app.server.wsgi import leaving, mode

blueprint = flask.Blueprint("probes", __name__)

NO_STORE = {"Cache-Control": "no-store"}


@blueprint.get("/healthz")
def healthz() -> flask.Response:
    """Report that the process responds."""
    return flask.Response("ok\n", content_type="text/plain", headers=NO_STORE)


@blueprint.get("/readyz")
def readyz() -> flask.Response:
    """Report whether the service accepts clients, which ends `SIAR_DRAIN_DELAY_S` before it begins to drain."""
    if services().draining or leaving.is_announced():
        return problem(503, refusal("shutting_down"))
    return flask.Response("ready\n", content_type="text/plain", headers=NO_STORE)


@blueprint.get("/version")
def version() -> flask.Response:
    """Return version, ways of serving, and the port of the clock channel."""
    settings = services().settings
    answer = flask.jsonify(
        name="siar",
        version=VERSION,
        async_mode=mode.current(),
        fanout="direct" if services().takes_over(flask.request.environ) else "stock",
        writes=services().fanout.flusher.sender.way,
        broker=", ".join(
            filter(None, [parse_broker_url(settings.broker).kind, services().broker.durability])
        ),
        workers=settings.workers,
        compression=settings.compression,
        run=services().run,
        timebase=clock.timebase(),
        heartbeat_s=settings.heartbeat_s,
        clock_port=settings.clock_port or None,
    )
    answer.headers.update(NO_STORE)
    return answer


@blueprint.get("/api/clock")
def read_clock() -> flask.Response:
    """Return two server stamps with nothing between them, for clients that cannot reach the clock channel."""
    received_us = clock.now_us()
    timebase = clock.timebase()
    text = f'{{"received_us":{received_us},"sent_us":{clock.now_us()},"timebase":"{timebase}"}}'
    return flask.Response(text, content_type="application/json", headers=NO_STORE)


@blueprint.get("/metrics")
def metrics() -> flask.Response:
    """Return the metrics over all processes, as Prometheus text or OpenMetrics in the requested version."""
    require_operator_or_this_machine()
    registry = CollectorRegistry()
    registry.register(ServerCounters(services()))
    encode, content_type = choose_encoder(flask.request.headers.get("Accept", ""))
    return flask.Response(encode(registry), content_type=content_type, headers=NO_STORE)
