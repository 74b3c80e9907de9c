"""Scripts, styles and texts without what only their readers need: comments, indentation, names in whole words.

The files stay as they are, and there is no build: each is stripped when it is first asked for, and again when it has
changed. Pages are less than half as heavy for it.
"""

from __future__ import annotations

import functools
import hashlib
import json
from pathlib import Path
from typing import NamedTuple

import flask
from werkzeug.exceptions import NotFound
from werkzeug.security import safe_join

from app.i18n import refusal
from app.paths import STATIC

blueprint = flask.Blueprint("assets", __name__)

ASSETS_KEPT_MAX = 256
"""More than there are files."""

CONTENT_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
}


class Asset(NamedTuple):
    """A stripped file."""

    body: bytes
    etag: str


@blueprint.get("/static/<any(js, css, i18n):folder>/<path:name>")
def asset(folder: str, name: str) -> flask.Response:
    """One file, or 304 for whoever has it."""
    path = safe_join(str(STATIC / folder), name)
    suffix = Path(name).suffix
    if path is None or suffix not in CONTENT_TYPES:
        return flask.send_from_directory(STATIC / folder, name)
    try:
        found = _stripped(path, Path(path).stat().st_mtime_ns)
    except (OSError, ValueError) as error:  # A name with a NUL in it is a `ValueError`.
        raise NotFound(refusal("no_such_file")) from error
    response = flask.Response(found.body, content_type=CONTENT_TYPES[suffix])
    response.set_etag(found.etag)
    response.headers["Cache-Control"] = "no-cache"  # ask each time: a new version is there at once
    response.make_conditional(flask.request)
    return response


@functools.lru_cache(ASSETS_KEPT_MAX)
def _stripped(path: str, _mtime_ns: int) -> Asset:
    text = Path(path).read_text(encoding="utf-8")
    body = strip(text, Path(path).suffix).encode()
    return Asset(body, hashlib.sha256(body).hexdigest()[:32])


def strip(text: str, suffix: str) -> str:
    """The same script, style or catalogue in fewer bytes; what one file knows of another keeps its name."""
    if suffix == ".json":
        return json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"))
    # Not before a page is asked for: it brings the Go runtime, 9 MB and threads of its own.
    import minify

    return str(minify.string(CONTENT_TYPES[suffix].partition(";")[0], text))
