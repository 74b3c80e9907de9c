"""The words of the pages, in the language of the request."""

from __future__ import annotations

from typing import Any

import flask
from werkzeug.wrappers import Request

from app.i18n import CATALOGUES as CATALOGUES
from app.i18n import LANGUAGES as LANGUAGES
from app.i18n import catalogue as catalogue


def language() -> str:
    """The reader's language: `?lang=` if it is one of ours, else what the browser prefers, else English."""
    asked = flask.request.args.get("lang")
    if asked in LANGUAGES:
        return asked
    return _preferred(flask.request)


def language_of(environ: dict[str, Any]) -> str:
    """The same where the application has not begun with the request."""
    return _preferred(Request(environ))


def _preferred(request: Request) -> str:
    return request.accept_languages.best_match(LANGUAGES, default="en") or "en"
