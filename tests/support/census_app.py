"""Siar with counts of live objects in its process: `gunicorn -c gunicorn.conf.py tests.support.census_app:app`.

`GET /census` returns the number of green threads, and of objects of each of our own classes.
`POST /leavings` disables the cycle collector; `GET /leavings` returns what only it could free since then, by class.
"""

from __future__ import annotations

import gc
import os
from collections import Counter

import flask
import greenlet
import psutil

from app.server.factory import create_app
from app.server.transports.socket_io.engine.session import EngineSession

app = create_app()

_left: Counter[str] = Counter()


@app.get("/census")
def census() -> flask.Response:
    """Collect garbage and return the counts of live objects."""
    gc.collect()
    everything = gc.get_objects()
    kinds = Counter(_name(kind) for kind in map(type, everything) if _is_ours(kind))
    return flask.jsonify(
        green_threads=sum(isinstance(each, greenlet.greenlet) and not each.dead for each in everything),
        descriptors=psutil.Process(os.getpid()).num_fds(),
        objects=dict(kinds),
    )


@app.post("/leavings")
def begin() -> flask.Response:
    """Collect garbage and disable the cycle collector."""
    gc.collect()
    gc.disable()
    _left.clear()
    return flask.jsonify()


@app.get("/leavings")
def leavings() -> flask.Response:
    """Return the objects that only the cycle collector freed since then, and the number of referenced sessions."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.collect()
    gc.set_debug(0)
    _left.update(map(_name, map(type, gc.garbage)))
    gc.garbage.clear()
    gc.collect()
    return flask.jsonify(
        left=dict(_left), sessions=sum(isinstance(each, EngineSession) for each in gc.get_objects())
    )


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _is_ours(kind: type) -> bool:
    return str(kind.__module__).startswith("app.")
