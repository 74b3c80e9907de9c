"""Siar with a count of repeated requests: `gunicorn -c gunicorn.conf.py tests.support.repeats_app:app`.

`GET /repeats` returns how many requests the worker answered without gunicorn, and how many of them by a shortcut.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flask

from app.server.factory import create_app
from app.server.wsgi import repeats as under_test
from app.server.wsgi.shortcut import WsgiApp

app = create_app()

_answer = under_test.answer
_counts = {"count": 0, "short": 0}


def _counting(app: WsgiApp, request: Any, sock: Any, is_handled: Callable[[Any], bool]) -> bool:
    _counts["count"] += 1
    _counts["short"] += under_test.has_shortcut(request)
    return _answer(app, request, sock, is_handled)


under_test.answer = _counting


@app.get("/repeats")
def repeats() -> flask.Response:
    return flask.jsonify(_counts)
