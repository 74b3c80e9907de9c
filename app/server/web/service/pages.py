"""The phone's page, its self-test and its results, rendered per request in the reader's language."""

from __future__ import annotations

import json
import re
from typing import Any

import flask

from app.core.errors import SiarError, Unknown
from app.core.version import VERSION
from app.i18n import refusal
from app.server.web import locale
from app.server.web.current import services
from app.store.archive.folders import folder_of, read_file

blueprint = flask.Blueprint("pages", __name__)

JOIN_CODE_CHARS_MAX = 16

RESULT_BYTES_MAX = 1_000_000

_KEY = re.compile(r"[A-Za-z0-9_-]{20,64}")
"""At least 120 random bits, so that it cannot be guessed; whoever has it may read."""


@blueprint.get("/")
def phone() -> flask.Response:
    """Return the page that a phone opens: receive, measure, join an experiment."""
    return _page(
        "index.html",
        parts=("phone", "room", "phone_page"),
        retention_days=services().settings.retention_days,
        kept={"code": flask.request.args.get("code", "")[:JOIN_CODE_CHARS_MAX]},
        config={"clock_port": services().settings.clock_port or None, "run": services().run},
    )


@blueprint.get("/selftest")
def self_test() -> flask.Response:
    """Return the page that guides a person with a phone through the steps of docs/phone-protocol.md."""
    return _page(
        "selftest.html",
        parts=("selftest",),
        config={"clock_port": services().settings.clock_port or None, "run": services().run},
    )


@blueprint.get("/results/<run>/<key>")
def result_page(run: str, key: str) -> flask.Response:
    """Return a page with one phone's measurements, as long as the run is kept. The URL is the only key to it."""
    _result(run, key)
    page = _page(
        "result.html", parts=("result", "result_page"), config={"result_url": f"/api/results/{run}/{key}"}
    )
    page.headers["X-Robots-Tag"] = "noindex"
    return page


@blueprint.get("/api/results/<run>/<key>")
def result(run: str, key: str) -> flask.Response:
    """Return one phone's measurements as JSON."""
    response = flask.jsonify(_result(run, key))
    response.headers["Cache-Control"] = "no-store"
    return response


def _result(run: str, key: str) -> dict[str, Any]:
    """Return one phone's measurements. Raises `Unknown`, which does not tell a wrong key from a missing run."""
    missing = Unknown(refusal("no_such_result"))
    if not _KEY.fullmatch(key):
        raise missing
    try:
        folder = folder_of(services().settings.runs_dir, run) / "results"
        raw = read_file(folder / f"{key}.json", bytes_max=RESULT_BYTES_MAX)
        found: dict[str, Any] = json.loads(raw)
    except (SiarError, ValueError, RecursionError) as error:
        raise missing from error
    return found


def _page(template: str, *, parts: tuple[str, ...], config: dict[str, Any], **values: Any) -> flask.Response:
    language = locale.language()
    words: dict[str, str] = {}
    for part in (locale.EVERY_PAGE, *parts):
        words |= locale.catalogue(language, part)
    page = flask.render_template(
        template,
        language=language,
        t=lambda key, **places: _filled(words[key], places),
        config={"version": VERSION, "language": language, **config},
        **values,
    )
    response = flask.Response(_without_indentation(page), content_type="text/html; charset=utf-8")
    response.headers["Content-Language"] = language
    response.headers["Vary"] = "Accept-Language"
    response.headers["Cache-Control"] = "no-cache"
    return response


def _filled(text: str, places: dict[str, object]) -> str:
    """Fill the places of a text as the pages' scripts do; a place without a value stays."""
    for name, value in places.items():
        text = text.replace(f"{{{name}}}", str(value))
    return text


def _without_indentation(page: str) -> str:
    """Return the page without indentation, a quarter shorter; no template has text that depends on it."""
    return re.sub(r"\n\s+", "\n", page)
