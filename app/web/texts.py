"""The words of the pages, in the language of the request."""

from __future__ import annotations

import flask

from app.catalogues import CATALOGUES as CATALOGUES
from app.catalogues import LANGUAGES as LANGUAGES
from app.catalogues import catalogue as catalogue


def language() -> str:
    """The reader's language: `?lang=` if it is one of ours, else what the browser prefers, else English."""
    asked = flask.request.args.get("lang")
    if asked in LANGUAGES:
        return asked
    return flask.request.accept_languages.best_match(LANGUAGES, default="en") or "en"
