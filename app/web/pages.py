"""The pages: rendered once per request, in the reader's language, under a policy that lets nothing foreign in."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import flask

from app.core.version import VERSION
from app.web.here import services

blueprint = flask.Blueprint("pages", __name__)

LANGUAGES = ("en", "id")

CATALOGUES = Path(__file__).parents[2] / "static" / "i18n"


@blueprint.get("/")
def phone() -> flask.Response:
    """The page that a phone opens: receive, measure, post."""
    language = _language()
    texts = _catalogue(language)
    config = {
        "version": VERSION,
        "clock_port": services().settings.clock_port or None,
        "language": language,
        "run": services().run,
    }
    page = flask.render_template("index.html", language=language, t=lambda key: texts[key], config=config)
    response = flask.Response(page, content_type="text/html; charset=utf-8")
    response.headers["Content-Language"] = language
    response.headers["Vary"] = "Accept-Language"
    response.headers["Cache-Control"] = "no-cache"
    return response


def _language() -> str:
    asked = flask.request.args.get("lang")
    if asked in LANGUAGES:
        return asked
    return flask.request.accept_languages.best_match(LANGUAGES, default="en") or "en"


@functools.cache
def _catalogue(language: str) -> dict[str, str]:
    texts: dict[str, str] = json.loads((CATALOGUES / f"{language}.json").read_text(encoding="utf-8"))
    return texts
