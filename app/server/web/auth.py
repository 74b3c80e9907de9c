"""Authorisation: the operator's token or session, a device's token, and exceptions for this machine.

Scripts send the token (`Authorization: Bearer`). A browser signs in once (`POST /api/sessions`) and then has a cookie.
A change authorised by cookie also needs the header `X-Siar: 1`, which a page of another site cannot send.
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
    """Return the token of `Authorization: Bearer`, or an empty string."""
    scheme, _, token = flask.request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def has_token() -> bool:
    """Return whether the request carries the operator's token. Raises `TooManyGuesses`.

    A wrong token counts as a guess, so this must not be called where a device may send its own.
    """
    address = address_of(flask.request.environ)
    if not services().operators.is_token(bearer_token(), address=address):
        return False
    # A script may publish as fast as SIAR_PUBLISH_PER_S_MAX allows, from any machine.
    connection_limiter.credit(address)
    return True


def session() -> str | None:
    """Return the request's operator session, if it is valid and may be used on this connection."""
    cookie = flask.request.cookies.get(operators.COOKIE)
    return cookie if services().operators.is_session(cookie) and may_sign_in() else None


def may_sign_in() -> bool:
    """Return whether sessions may be used here: the cookie is safe in transit, or the setting allows it anyway."""
    request = flask.request
    return is_this_machine(request.environ) or request.is_secure or services().settings.admin_over_http


def is_operator() -> bool:
    """Return whether the request is authenticated as an operator's. Raises `TooManyGuesses`."""
    return has_token() or (session() is not None and _is_by_our_page())


def require_operator() -> None:
    """Raise 401 for anyone but an operator, and 403 for an operator's browser that another page directed here."""
    if is_operator():
        return
    if session() is not None:
        raise Forbidden(refusal("header_missing", header=SCRIPT_HEADER))
    raise unauthorized(refusal("operator_only"))


def require_operator_or_this_machine() -> None:
    """Raise 401 unless the request is an operator's or comes from this machine, such as a local monitor's."""
    if not is_operator() and not is_this_machine(flask.request.environ):
        raise unauthorized(refusal("token_needed"))


def require_device(device: str) -> None:
    """Raise 401 unless the request is authenticated as `device`, by its token or its cookie."""
    devices = services().devices
    if devices.is_genuine(device, bearer_token()) or devices.from_cookie(bearer_token()) == device:
        return
    if devices.from_cookie(flask.request.cookies.get(COOKIE)) != device:
        raise unauthorized(refusal("not_this_device"))


def _is_by_our_page() -> bool:
    request = flask.request
    return request.method in _SAFE or request.headers.get(SCRIPT_HEADER) == "1"


def unauthorized(sentence: str) -> Unauthorized:
    """Return a 401 to raise, which says what is missing."""
    return Unauthorized(sentence, www_authenticate=WWWAuthenticate("Bearer"))
