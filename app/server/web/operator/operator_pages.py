"""The operator's page and the big screen. The pages are the same for everybody; their scripts request the data."""

from __future__ import annotations

from typing import Any

import flask

from app.core.version import VERSION
from app.core.wire import BODY_CHARS_MAX, DEFAULT_TOPIC, TITLE_CHARS_MAX, TOPIC_PATTERN
from app.server.web import auth, locale
from app.store.plans import PHONE_NOTIFICATIONS_MAX

blueprint = flask.Blueprint("operator_pages", __name__)

SHARED = "experiment"
"""The catalogue that both pages use in addition to their own."""

HTML_TOPIC_PATTERN = TOPIC_PATTERN.pattern.replace("-]", r"\-]")
"""The pattern for HTML's `v` mode, in which a hyphen at the end of a character class must be escaped too."""


@blueprint.get("/admin")
def admin() -> flask.Response:
    """Return the operator's page: sign in, broadcast, devices, experiments, runs.

    A one-time key in the URL is left to the page's script, which spends it and removes it from the address bar.
    """
    limits = {"title_chars_max": TITLE_CHARS_MAX, "body_chars_max": BODY_CHARS_MAX}
    topics = {"default_topic": DEFAULT_TOPIC, "topic_pattern": HTML_TOPIC_PATTERN}
    return _page("admin", phone_notifications_max=PHONE_NOTIFICATIONS_MAX, **limits, **topics)


@blueprint.get("/screen")
def screen() -> flask.Response:
    """Return the big screen's page; its script learns from `GET /api/screen` whether the key in the URL is valid."""
    return _page("screen", kept={"key": flask.request.args.get("key", "")})


def _page(name: str, **values: Any) -> flask.Response:
    language = locale.language()
    words = {
        word: text
        for part in (locale.EVERY_PAGE, SHARED, name)
        for word, text in locale.catalogue(language, part).items()
    }
    page = flask.render_template(
        f"{name}.html",
        language=language,
        t=lambda key: words[key],
        config={"version": VERSION, "language": language, "signed_in": auth.session() is not None},
        **values,
    )
    response = flask.Response(page, content_type="text/html; charset=utf-8")
    response.headers["Content-Language"] = language
    response.headers["Vary"] = "Accept-Language"
    response.headers["Cache-Control"] = "no-store"
    return response
