"""Siar as it is, with a count of what lives in its process: `gunicorn -c gunicorn.conf.py tests.support.census_app:app`.

`GET /census` tells the green threads that run or wait, and how many objects there are of each of our own classes.
"""

from __future__ import annotations

import gc
import os
from collections import Counter

import flask
import greenlet
import psutil

from app.factory import create_app

app = create_app()


@app.get("/census")
def census() -> flask.Response:
    """What is left when the rubbish is out."""
    gc.collect()
    everything = gc.get_objects()
    kinds = Counter(
        f"{kind.__module__}.{kind.__qualname__}" for kind in map(type, everything) if _is_ours(kind)
    )
    return flask.jsonify(
        green_threads=sum(isinstance(each, greenlet.greenlet) and not each.dead for each in everything),
        descriptors=psutil.Process(os.getpid()).num_fds(),
        objects=dict(kinds),
    )


def _is_ours(kind: type) -> bool:
    return str(kind.__module__).startswith("app.")
