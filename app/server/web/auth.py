"""Who may what: the operator's token or session, a device's token, and what this machine may without one.

A script proves the token (`Authorization: Bearer`). A browser signs in once (`POST /api/sessions`) and has a cookie then;
what changes something by cookie also needs the header `X-Siar: 1`, which a page of another site cannot send.
"""

from __future__ import annotations

import flask
from werkzeug.datastructures import WWWAuthenticate
from werkzeug.exceptions import Forbidden, Unauthorized

from app.i18n import refusal
from app.server import operators
from app.server.deliveries import COOKIE
from app.server.web.current import services
from app.server.wsgi import connection_limiter
from app.server.wsgi.peer import address_of, is_this_machine

SCRIPT_HEADER = "X-Siar"

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


def bearer_token() -> str:
    """The token of `Authorization: Bearer`, or an empty string."""
    scheme, _, token = flask.request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def has_token() -> bool:
    """Whether the request carries the operator's token. Raises `TooManyGuesses`.

    A wrong one counts as a guess: not to be asked where a device may show its own.
    """
    address = address_of(flask.request.environ)
    if not services().operators.is_token(bearer_token(), address=address):
        return False
    connection_limiter.credit(
        address
    )  # A script may publish as fast as SIAR_PUBLISH_PER_S_MAX allows, from any machine.
    return True


def session() -> str | None:
    """The operator's session of the request, where one may be used."""
    cookie = flask.request.cookies.get(operators.COOKIE)
    return cookie if services().operators.is_session(cookie) and may_sign_in() else None


def may_sign_in() -> bool:
    """Whether a session may be used on this connection: nobody in between can read its cookie, or that was allowed."""
    request = flask.request
    return is_this_machine(request.environ) or request.is_secure or services().settings.admin_over_http


def is_operator() -> bool:
    """Whether the request proves to be an operator's. Raises `TooManyGuesses`."""
    return has_token() or (session() is not None and _is_by_our_page())


def require_operator() -> None:
    """Raises 401 for everybody else, and 403 for an operator's browser that was sent by another page."""
    if is_operator():
        return
    if session() is not None:
        raise Forbidden(refusal("header_missing", header=SCRIPT_HEADER))
    raise unauthorized(refusal("operator_only"))


def require_operator_or_this_machine() -> None:
    """For what a monitor on the same machine may read without a token. Raises 401."""
    if not is_operator() and not is_this_machine(flask.request.environ):
        raise unauthorized(refusal("token_needed"))


def require_device(device: str) -> None:
    """Raises 401 unless the request proves to be `device`, by its token or its cookie."""
    devices = services().devices
    if devices.is_genuine(device, bearer_token()) or devices.from_cookie(bearer_token()) == device:
        return
    if devices.from_cookie(flask.request.cookies.get(COOKIE)) != device:
        raise unauthorized(refusal("not_this_device"))


def _is_by_our_page() -> bool:
    request = flask.request
    return request.method in _SAFE or request.headers.get(SCRIPT_HEADER) == "1"


def unauthorized(sentence: str) -> Unauthorized:
    """A 401 to raise: what is missing, in a sentence."""
    return Unauthorized(sentence, www_authenticate=WWWAuthenticate("Bearer"))
