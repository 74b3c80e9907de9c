"""Siar as it is, with a count of what came again: `gunicorn -c gunicorn.conf.py tests.support.repeats_app:app`.

`GET /repeats` tells how many requests the worker has had answered without gunicorn, and how many of them by a shortcut.
"""

from __future__ import annotations

from typing import Any

import flask

from app.factory import create_app
from app.serving import repeats as under_test

app = create_app()

_answer = under_test.answer
_counts = {"count": 0, "short": 0}


def _counting(wsgi: Any, request: Any, *rest: Any) -> bool:
    _counts["count"] += 1
    _counts["short"] += under_test.has_shortcut(request)
    return _answer(wsgi, request, *rest)


under_test.answer = _counting


@app.get("/repeats")
def repeats() -> flask.Response:
    return flask.jsonify(_counts)
