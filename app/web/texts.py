"""The words of the pages: flat catalogues in static/i18n/<language>/<part>.json, which the pages' scripts read too."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import flask

LANGUAGES = ("en", "id")

CATALOGUES = Path(__file__).parents[2] / "static" / "i18n"


def language() -> str:
    """The reader's language: `?lang=` if it is one of ours, else what the browser prefers, else English."""
    asked = flask.request.args.get("lang")
    if asked in LANGUAGES:
        return asked
    return flask.request.accept_languages.best_match(LANGUAGES, default="en") or "en"


@functools.cache
def catalogue(language: str, part: str) -> dict[str, str]:
    """The texts of one part by key. Raises `OSError` for a part that there is not."""
    texts: dict[str, str] = json.loads((CATALOGUES / language / f"{part}.json").read_text(encoding="utf-8"))
    return texts
