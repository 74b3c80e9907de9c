"""`GET /api/screen?key=`: what the big screen shows; whoever has its link may read it and can change nothing."""

from __future__ import annotations

from typing import Any

import flask
from werkzeug.exceptions import Forbidden

from app.i18n import refusal
from app.server.room import views
from app.server.web import body, locale
from app.server.web.current import services
from app.server.web.room.join_link import join_url, reaches_this_machine_only
from app.server.web.room.qr import qr_path

blueprint = flask.Blueprint("screen_data", __name__)


def require_screen_key() -> None:
    """Raises 403 unless the request's link is the big screen's."""
    if not services().invitation.is_screen_key(flask.request.args.get("key", "")):
        raise Forbidden(refusal("wrong_screen_key"))


DOWNLOADS = ("report", "export.zip")
"""The last part of their addresses, for the screen as for the operator."""


def offered(result: dict[str, Any] | None, run: str | None, key: str) -> list[dict[str, str]]:
    """The downloads of a result under the addresses at which the screen's link opens them (screen_downloads.py)."""
    urls = {f"/api/runs/{run}/{name}": f"/api/screen/{name}?key={key}" for name in DOWNLOADS}
    return [
        {"name": each["name"], "url": urls[each["url"]]}
        for each in (result or {}).get("downloads", [])
        if each["url"] in urls
    ]


@blueprint.get("/api/screen")
def screen() -> flask.Response:
    """The room by seats and names, and how to get into it."""
    require_screen_key()
    url = join_url()
    code = qr_path(url)
    seen = views.screen(services().room, locale.language())
    if seen["result"] is not None:
        downloads = offered(seen["result"], seen["run"], flask.request.args["key"])
        seen["result"] = {**seen["result"], "downloads": downloads}
    answer = body.answer(
        **seen,
        join_code=services().invitation.code,
        join_code_required=services().settings.join_code,
        join_url=url,
        join_url_is_local=reaches_this_machine_only(url),
        qr={"size": code.size, "path": code.path},
    )
    answer.headers["Cache-Control"] = "no-store"
    return answer
