"""The language of the request, and its catalogues."""

from __future__ import annotations

from typing import Any

import flask
from werkzeug.wrappers import Request

from app.i18n import CATALOGUES as CATALOGUES
from app.i18n import LANGUAGES as LANGUAGES
from app.i18n import catalogue as catalogue

EVERY_PAGE = "page"
"""The catalogue that every page uses in addition to its own."""


def language() -> str:
    """Return the reader's language: a supported `?lang=`, else the browser's preference, else English."""
    asked = flask.request.args.get("lang")
    if asked in LANGUAGES:
        return asked
    return _preferred(flask.request)


def language_of(environ: dict[str, Any]) -> str:
    """Return the browser's preferred language outside of a Flask request."""
    return _preferred(Request(environ))


def _preferred(request: Request) -> str:
    return request.accept_languages.best_match(LANGUAGES, default="en") or "en"
