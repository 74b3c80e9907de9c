"""`GET /api/screen?key=`: what the big screen shows; whoever has its link may read it and can change nothing."""

from __future__ import annotations

import flask
from werkzeug.exceptions import Forbidden

from app.room import views
from app.web import body
from app.web.here import services
from app.web.join_link import join_url, reaches_this_machine_only
from app.web.qr import qr_path

blueprint = flask.Blueprint("screen_data", __name__)

WRONG_KEY = (
    "This link to the big screen is not of this server's present life; the operator's page has the good one."
)


def require_screen_key() -> None:
    """Raises 403 unless the request's link is the big screen's."""
    if not services().invitation.is_screen_key(flask.request.args.get("key", "")):
        raise Forbidden(WRONG_KEY)


@blueprint.get("/api/screen")
def screen() -> flask.Response:
    """The room by seats and names, and how to get into it."""
    require_screen_key()
    url = join_url()
    code = qr_path(url)
    answer = body.answer(
        **views.screen(services().room),
        join_code=services().invitation.code,
        join_code_required=services().settings.join_code,
        join_url=url,
        join_url_is_local=reaches_this_machine_only(url),
        qr={"size": code.size, "path": code.path},
    )
    answer.headers["Cache-Control"] = "no-store"
    return answer
