"""`/api/sessions` and `/api/links`: operators sign in and out, and create links that open one session each."""

from __future__ import annotations

from typing import Annotated

import flask
import msgspec
from werkzeug.exceptions import Forbidden

from app.i18n import refusal
from app.server import operators
from app.server.web import auth, body
from app.server.web.current import cookie_path, services
from app.server.wsgi.peer import address_of

blueprint = flask.Blueprint("sessions", __name__)

BODY_BYTES_MAX = 1024

NO_STORE = {"Cache-Control": "no-store"}


class SignIn(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a sign-in by a one-time link."""

    key: Annotated[str, msgspec.Meta(min_length=1, max_length=128)]


@blueprint.post("/api/sessions")
def sign_in() -> flask.Response:
    """Create a session for a one-time link's key or the operator's token; scripts cannot read its cookie."""
    if not auth.may_sign_in():
        raise Forbidden(refusal("admin_over_http"))
    known = services().operators
    if auth.has_token():
        session = known.new_session()
    elif auth.bearer_token():
        raise auth.unauthorized(refusal("wrong_token"))
    else:
        wanted = body.read(SignIn, bytes_max=BODY_BYTES_MAX)
        session = known.sign_in(wanted.key, address=address_of(flask.request.environ))
    answer = body.answer(201, age_max_s=operators.SESSION_S)
    answer.headers.update(NO_STORE)
    answer.set_cookie(
        operators.COOKIE,
        session,
        max_age=operators.SESSION_S,
        path=cookie_path(),
        httponly=True,
        samesite="Strict",
        secure=flask.request.is_secure,
    )
    return answer


@blueprint.delete("/api/sessions")
def sign_out() -> flask.Response:
    """End this browser's session; signing out twice is no error."""
    session = auth.session()
    if session is not None:
        auth.require_operator()  # Pages of other sites must not sign anybody out.
        services().operators.sign_out(session)
    answer = body.answer(signed_out=session is not None)
    answer.delete_cookie(
        operators.COOKIE,
        path=cookie_path(),
        httponly=True,
        samesite="Strict",
        secure=flask.request.is_secure,
    )
    return answer


@blueprint.post("/api/links")
def new_link() -> flask.Response:
    """Create a one-time link, under the host and prefix of this request."""
    auth.require_operator()
    key = services().operators.new_link_key()
    answer = body.answer(201, url=f"{flask.request.url_root}admin?key={key}")
    answer.headers.update(NO_STORE)
    return answer
