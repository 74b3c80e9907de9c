"""The pages: rendered once per request, in the reader's language, under a policy that lets nothing foreign in."""

from __future__ import annotations

import flask

from app.core.version import VERSION
from app.web import texts
from app.web.here import services

blueprint = flask.Blueprint("pages", __name__)


@blueprint.get("/")
def phone() -> flask.Response:
    """The page that a phone opens: receive, measure, post."""
    language = texts.language()
    words = texts.catalogue(language, "phone")
    config = {
        "version": VERSION,
        "clock_port": services().settings.clock_port or None,
        "language": language,
        "run": services().run,
    }
    page = flask.render_template("index.html", language=language, t=lambda key: words[key], config=config)
    response = flask.Response(page, content_type="text/html; charset=utf-8")
    response.headers["Content-Language"] = language
    response.headers["Vary"] = "Accept-Language"
    response.headers["Cache-Control"] = "no-cache"
    return response
