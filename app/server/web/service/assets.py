"""Scripts, styles and catalogues, minified: without comments and indentation, and with short local names.

There is no build step. Each file is minified at its first request, and again after it has changed. Pages are less than half
as large as a result.
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
    """A minified file."""

    body: bytes
    etag: str


@blueprint.get("/static/<any(js, css, i18n):folder>/<path:name>")
def asset(folder: str, name: str) -> flask.Response:
    """Return one file, or 304 if the client has it."""
    path = safe_join(str(STATIC / folder), name)
    suffix = Path(name).suffix
    if path is None or suffix not in CONTENT_TYPES:
        return flask.send_from_directory(STATIC / folder, name)
    try:
        found = _stripped(path, Path(path).stat().st_mtime_ns)
    except (OSError, ValueError) as error:  # `ValueError`: a name that contains NUL.
        raise NotFound(refusal("no_such_file")) from error
    response = flask.Response(found.body, content_type=CONTENT_TYPES[suffix])
    response.set_etag(found.etag)
    response.headers["Cache-Control"] = (
        "no-cache"  # Revalidate each time, so that new versions appear at once.
    )
    response.make_conditional(flask.request)
    return response


@functools.lru_cache(ASSETS_KEPT_MAX)
def _stripped(path: str, _mtime_ns: int) -> Asset:
    text = Path(path).read_text(encoding="utf-8")
    body = strip(text, Path(path).suffix).encode()
    return Asset(body, hashlib.sha256(body).hexdigest()[:32])


def strip(text: str, suffix: str) -> str:
    """Return a minified script, style or catalogue; names that other files use stay."""
    if suffix == ".json":
        return json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"))
    # Imported on first use, because it loads the Go runtime with 9 MB and its own threads.
    import minify

    return str(minify.string(CONTENT_TYPES[suffix].partition(";")[0], text))
