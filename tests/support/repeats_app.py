"""Siar as it is, with a count of what came again: `gunicorn -c gunicorn.conf.py tests.support.repeats_app:app`.

`GET /repeats` tells how many requests the worker has handed on without gunicorn, which gives an application early hints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import flask

from app.factory import create_app

app = create_app()

_inner = app.wsgi_app
_repeats = 0


def _counting(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    global _repeats
    _repeats += "wsgi.early_hints" not in environ
    return _inner(environ, start_response)


app.wsgi_app = _counting  # type: ignore[method-assign]


@app.get("/repeats")
def repeats() -> flask.Response:
    return flask.jsonify(count=_repeats)
