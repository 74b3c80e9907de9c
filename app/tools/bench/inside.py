"""Our server with a publisher inside, for the bench: `gunicorn -c gunicorn.conf.py app.tools.bench.inside:app`.

It is `wsgi:app` with two additional requests, which require the operator's token.
"""

from __future__ import annotations

import time
from collections import Counter

import flask

from app import clock
from app.core.wire import DEFAULT_TOPIC
from app.server.broker.base import Draft
from app.server.factory import create_app
from app.server.web.auth import require_operator
from app.server.web.service.metrics import server_counters
from app.tools.bench import wire

app = create_app()


@app.post(wire.BURST_PATH)
def burst() -> flask.Response:
    """Publish `count` notifications as fast as possible, without HTTP between them.

    It yields to the server's event loop after each, as any source inside a server must; otherwise nothing else would
    run until it ends.
    """
    require_operator()
    flask.request.max_content_length = 1024
    broker = app.services.broker
    starts_us = []
    for _ in range(int(flask.request.get_json()["count"])):
        starts_us.append(clock.monotonic_us())
        broker.publish(Draft(title=wire.TITLE, body=wire.BODY, topic=DEFAULT_TOPIC, due_us=clock.now_us()))
        time.sleep(0)
    return flask.jsonify(starts_us=starts_us, offset=broker.position().offset)


@app.get(wire.STATE_PATH)
def state() -> flask.Response:
    """Return the number of connections by transport and by path, and of processes, for the whole server.

    Counts of other processes may be a second old.
    """
    require_operator()
    numbers = server_counters(app.services)
    paths: Counter[str] = Counter()
    for (_transport, path), count in numbers["siar_connection_paths"]:
        paths[path] += int(count)
    recipients = {transport: int(count) for (transport,), count in numbers["siar_connections"]}
    (((), processes),) = numbers["siar_processes"]
    return flask.jsonify(recipients=recipients, paths=paths, processes=int(processes))
